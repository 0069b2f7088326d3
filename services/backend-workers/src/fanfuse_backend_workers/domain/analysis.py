"""The one analysis of text, used for indexing and for querying, so that both always agree.

In: text. Out: stemmed words with the ranks of Lucene's English analyser (Porter, its 33 stop words; two-character
grams for scripts without spaces), and beside them compounds kept whole: identifiers, dotted and snake-case names.
Query text is data: nothing in it is an operator. It never reads a setting, so an index can not be queried otherwise.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import Stemmer

from fanfuse_backend_workers.domain.analysis_tokens import Piece, cut, normalise

MAX_TERM_CHARS: Final = 256
"""Longer runs (base64 lines) are no words: engines refuse terms over 32,766 bytes."""
WHOLE_WEIGHT: Final = 0.3
"""Weight of a whole compound beside its words: 0.3 beat 1.0 and 0 on five of six judged English collections."""
MAX_DOTTED_NAMES: Final = 8
STOP_WORDS: Final = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was",
        "will", "with",
    }
)  # fmt: skip
_STRONG_DIGITS: Final = 3
_CAMEL: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SEPARATORS: Final = re.compile(r"[-_.]")
_DECIMAL: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_PORTER: Final = Stemmer.Stemmer("porter")


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """`words` in their order; `wholes`: compounds in lower case, and single characters of unspaced runs."""

    words: tuple[str, ...]
    wholes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What to search: `words` and `wholes` add to the score, an `exact` entry comes before everything else.

    An `exact` entry with one term is looked up among the wholes and words; with more it is a phrase of words.
    """

    words: tuple[str, ...]
    wholes: tuple[str, ...]
    exact: tuple[tuple[str, ...], ...]

    @property
    def empty(self) -> bool:
        """True for blank text, punctuation and stop words only: such a query has no hit."""
        return not (self.words or self.wholes or self.exact)


def analyse_text(text: str) -> AnalysedText:
    """Analyse text to be indexed."""
    words: list[str] = []
    wholes: list[str] = []
    for piece in cut(normalise(text)):
        if piece.unspaced:
            words += _grams(piece.text)
            wholes += piece.text
        else:
            found = _compound(piece.text)
            words += found.words
            wholes += found.wholes
    return AnalysedText(tuple(words), tuple(wholes))


def analyse_query(text: str, identifiers: tuple[str, ...] = ()) -> QueryTerms:
    """Analyse query text; `identifiers` are parts of it that must be matched exactly, such as `RFC 9110`.

    A compound with letters and digits (`TRAVEL-2026-01`) counts as an identifier by itself. With three digits or
    more its parts are not searched, so that a near miss gains nothing from the parts it shares.
    """
    words: list[str] = []
    wholes: list[str] = []
    exact = [_exact(identifier) for identifier in identifiers]
    for piece in cut(normalise(text)):
        if piece.unspaced:
            grams = _grams(piece.text)
            words += grams if len(piece.text) > 1 else []
            wholes += piece.text if len(piece.text) == 1 else ""
            continue
        whole = _whole(piece.text)
        wholes += [whole] if whole else []
        if whole and is_identifier(whole):
            exact.append((whole,))
        if not (whole and is_strong_identifier(whole)):
            words += _words(piece.text)
    return QueryTerms(tuple(words), tuple(wholes), tuple(dict.fromkeys(entry for entry in exact if entry)))


def is_identifier(whole: str) -> bool:
    """True for a compound joined by `-` or `_` that has a letter and a digit: `il-6`, `cve-2026-1234`, a UUID."""
    return (
        ("-" in whole or "_" in whole)
        and any(char.isdigit() for char in whole)
        and any(char.isalpha() for char in whole)
    )


def is_strong_identifier(whole: str) -> bool:
    """An identifier with three or more digits: its parts mean nothing alone."""
    return is_identifier(whole) and sum(char.isdigit() for char in whole) >= _STRONG_DIGITS


def _exact(identifier: str) -> tuple[str, ...]:
    pieces = cut(normalise(identifier))
    if len(pieces) == 1 and (whole := _whole(pieces[0].text)):
        return (whole,)
    return tuple(word for piece in pieces for word in _piece_words(piece))


def _piece_words(piece: Piece) -> list[str]:
    return _grams(piece.text) if piece.unspaced else _words(piece.text)


@lru_cache(maxsize=100_000)
def _compound(compound: str) -> AnalysedText:
    return AnalysedText(tuple(_words(compound)), tuple(_wholes(compound)))


def _words(compound: str) -> list[str]:
    if _DECIMAL.fullmatch(compound):
        return [compound]
    return [word for segment in _SEPARATORS.split(compound) for word in _segment_words(segment)]


def _segment_words(segment: str) -> tuple[str, ...]:
    if len(segment) > MAX_TERM_CHARS:
        return ()
    lowered = segment.lower().rstrip("+#")
    parts = [] if segment in (lowered, segment.upper()) else _CAMEL.findall(segment)
    if len(parts) < 2 or min(map(len, parts)) < 2:
        parts = []
    return tuple(_stem(word) for word in (lowered, *(part.lower() for part in parts)) if word not in STOP_WORDS)


def _stem(word: str) -> str:
    stem: str = _PORTER.stemWord(word) if word.isascii() and word.isalpha() else word
    return stem


def _whole(compound: str) -> str | None:
    """The compound in lower case, or None for a plain word, a decimal or an over-long run."""
    if len(compound) > MAX_TERM_CHARS or _DECIMAL.fullmatch(compound):
        return None
    return compound.lower() if _SEPARATORS.search(compound) or compound[-1] in "+#" else None


def _wholes(compound: str) -> list[str]:
    """The compound and its dotted endings, so that `Path.read_text` finds `pathlib.Path.read_text`."""
    names = compound.split(".")[-MAX_DOTTED_NAMES:]
    endings = [".".join(names[start:]) for start in range(1, len(names))]
    return [whole for name in (compound, *endings) if (whole := _whole(name))]


def _grams(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] or [run]
