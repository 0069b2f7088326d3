"""Cuts text into compounds (words joined by `-`, `_` or `.`) and runs of scripts written without spaces.

In: any text. Out: pieces in their order, in their original case. It never drops a letter or digit and never stems.
"""

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

_UNSPACED: Final = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han and kana
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
    "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Myanmar, Khmer
    "\U00020000-\U0002fa1f\U00030000-\U000323af"
)
_SCANNED_PLANES: Final = 0x20000
_LANGUAGE: Final = r"(?<![A-Za-z0-9])[A-Za-z](?:\+\+|#)(?![A-Za-z0-9])"
"""C++, C#, F#."""
_ASCII: Final = re.compile(f"{_LANGUAGE}|[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*")
_UNSPACED_RUN: Final = re.compile(f"([{_UNSPACED}]+)")
_POSSESSIVE: Final = re.compile(r"(?<=[^\W_])'[sS](?![^\W_])|(?<=[^\W_])'(?=[^\W_])")
_ONE_FORM: Final = str.maketrans(
    {"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2212": "-"}
)


class Piece(NamedTuple):
    """A compound such as `TRAVEL-2026-01` or `pathlib.Path`, or an unspaced run such as `取消行程`."""

    text: str
    unspaced: bool


def normalise(text: str) -> str:
    """NFKC, with one form of apostrophe and hyphen; possessive 's removed and don't written dont."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_ONE_FORM)
    return _POSSESSIVE.sub("", text) if "'" in text else text


def cut(text: str) -> list[Piece]:
    """Pieces of a normalised text."""
    if text.isascii():
        return [Piece(found, False) for found in _ascii_compounds(text)]
    return [
        piece
        for index, part in enumerate(_UNSPACED_RUN.split(text))
        for piece in ([Piece(part, True)] if index % 2 else _spaced(part))
    ]


def _ascii_compounds(text: str) -> list[str]:
    return _ASCII.findall(text)


def _spaced(text: str) -> list[Piece]:
    return [Piece(found, False) for found in _any_compound().findall(text)]


@cache
def _any_compound() -> re.Pattern[str]:
    word = f"[{_word_class()}]+"
    return re.compile(f"{_LANGUAGE}|{word}(?:[-_.]{word})*")


def _word_class() -> str:
    """Letters, digits and combining marks: `\\w` alone cuts Indic and Arabic words at their vowel signs."""
    unspaced = re.compile(f"[{_UNSPACED}]")
    ranges: list[list[int]] = []
    for point in range(_SCANNED_PLANES):
        if unicodedata.category(chr(point))[0] not in "LNM" or unspaced.match(chr(point)):
            continue
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)
