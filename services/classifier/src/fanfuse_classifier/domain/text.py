"""One reading of a text: canonical form, blankness, folding.

In: any string, unpaired surrogates included. Out: strings in which NFC and NFD of the same text are equal. The query's
own text is never changed by this; only what is read from it.
"""

import re
import sys
import unicodedata
from typing import Final


def _ranges(codes: list[int]) -> str:
    """The body of a character class that holds these code points."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in spans)


_MARK_PLANES: Final = (*range(0x300, 0x20000), *range(0xE0100, min(0xE01F0, sys.maxunicode)))
MARKS: Final = _ranges([code for code in _MARK_PLANES if unicodedata.category(chr(code))[0] == "M"])
"""Character class body: combining marks, which belong to the word they stand in (most of Devanagari's vowels)."""

_NON_STARTERS: Final = _ranges([code for code in _MARK_PLANES if unicodedata.combining(chr(code))])
# Python orders marks by insertion, quadratic in their number; a run that is ordered already costs linear time.
# 30 is the bound of the Stream-Safe Text Format (UAX #15, section 13).
_LONG_RUN: Final = re.compile(f"[{_NON_STARTERS}]{{31,}}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_JOINERS: Final = frozenset((0x200C, 0x200D))
_HYPHENS: Final = (0x2010, 0x2011, 0xFE63)


def _reading_table() -> dict[int, str | None]:
    table: dict[int, str | None] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    for code in (*range(0x20), *range(0x7F, 0x3001), 0xFEFF, *range(0xFFF9, 0xFFFC)):
        category = unicodedata.category(chr(code))
        if category in {"Cc", "Zs", "Zl", "Zp"}:
            table[code] = " "
        elif category == "Cf" and code not in _JOINERS:
            table[code] = None
    table[ord("\n")] = "\n"
    # A zero-width space separates words in scripts written without spaces.
    table[0x200B] = " "
    return table | dict.fromkeys(_HYPHENS, "-")


_READING: Final = _reading_table()

_UNSEEN: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that no general category gives away as invisible: fillers, the blank Braille cell, the joiner."""


def normalise(text: str) -> str:
    """NFC with full-width ASCII narrowed, blanks made plain, and format controls (bidi, soft hyphen) left out."""
    if text.isascii():
        return text if text.isprintable() else text.translate(_READING)
    text = _SURROGATE.sub("\ufffd", text)
    text = _LONG_RUN.sub(lambda run: "".join(sorted(run[0], key=unicodedata.combining)), text)
    return unicodedata.normalize("NFC", text).translate(_READING)


def fold(text: str) -> str:
    """Case-folded NFC, for comparing."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold())


def is_blank(text: str) -> bool:
    """True if nothing of the text can be seen: blanks, controls, zero-width characters, variation selectors."""
    return all(_is_invisible(character) for character in text)


def _is_invisible(character: str) -> bool:
    return (
        unicodedata.category(character) in {"Cc", "Cf", "Zs", "Zl", "Zp"}
        or character in _UNSEEN
        or "\ufe00" <= character <= "\ufe0f"
    )
