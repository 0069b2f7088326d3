"""Terms of a text, for weights, rules, scopes and cards.

In: a text. Out: `Terms`: words folded to one form, with word boundaries per script. Where words have blanks between
them a term matches whole words only (log is not in logo); in Hangul it matches from the start of a word, because
particles follow the noun; in scripts without blanks it matches anywhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from fanfuse_classifier.domain.scripts import HANGUL, UNSPACED
from fanfuse_classifier.domain.text import normalise
from fanfuse_classifier.domain.words import Word, read_text, read_words

MAX_WORDS: Final = 3
"""Longest term in words that a weight may have."""
MAX_UNSPACED_CHARS: Final = 8
"""Longest term in characters that a weight may have in a script without blanks."""

_ENDS_IN_HANGUL: Final = re.compile(f"[{HANGUL}]$")
_HAS_OPEN_ENDS: Final = re.compile(f"[{UNSPACED}{HANGUL}]")


@dataclass(frozen=True)
class Terms:
    """A text as its folded words."""

    text: str
    """Normalised."""
    padded: str
    """The folded words, each with one blank on both sides."""

    @cached_property
    def anchors(self) -> frozenset[str]:
        """The words, and of words that a term may match in part every one and two characters."""
        found = set(self.padded.split())
        for word in [word for word in found if not word.isascii() and _HAS_OPEN_ENDS.search(word)]:
            found.update(word, _pairs(word))
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A term as it is looked for."""

    padded: str
    """Stands in `Terms.padded` wherever the term is in the text: it has a blank where a word must end."""
    anchors: frozenset[str]
    """All are among `Terms.anchors` wherever the term is in the text; never empty."""

    def is_in(self, terms: Terms) -> bool:
        """True if the term is in the text."""
        return self.anchors <= terms.anchors and self.padded in terms.padded


def read_terms(text: str) -> Terms:
    """The terms of a text."""
    normalised, words = read_text(text)
    return Terms(normalised, f" {_joined(words)} ")


def read_pattern(term: str) -> Pattern | None:
    """What to look for, with the boundaries of the term's script; None if the term has no word."""
    words = read_words(normalise(term))
    if not words:
        return None
    open_left = not words[0].spaced
    open_right = not words[-1].spaced or _ENDS_IN_HANGUL.search(words[-1].folded) is not None
    whole = [word.folded for word in words[open_left : len(words) - open_right]]
    padded = f"{'' if open_left else ' '}{_joined(words)}{'' if open_right else ' '}"
    return Pattern(padded, frozenset(whole or _pieces_of_open_word(words[-1].folded)))


def _pieces_of_open_word(word: str) -> list[str]:
    return list(_pairs(word)) or [word]


def _pairs(word: str) -> Iterator[str]:
    return map("".join, pairwise(word))


def canonical(term: str) -> str:
    """The one form of a term: folded words with single blanks; empty if it has no word."""
    return _joined(read_words(normalise(term)))


def weighable_terms(text: str, *more: str) -> frozenset[str]:
    """Every term of the texts that a weight may be given for: one to three words, or some characters of a run."""
    found: set[str] = set()
    for words in (read_text(text)[1], *(read_words(normalise(other)) for other in more)):
        folded = [word.folded for word in words]
        for count in range(1, MAX_WORDS + 1):
            found.update(map(" ".join, zip(*(folded[start:] for start in range(count)), strict=False)))
        for word in words:
            if not word.spaced:
                found.update(_pieces(word.folded))
    return frozenset(found)


def _pieces(run: str) -> set[str]:
    return {
        run[start : start + length]
        for start in range(len(run))
        for length in range(1, min(MAX_UNSPACED_CHARS, len(run) - start) + 1)
    }


def _joined(words: tuple[Word, ...]) -> str:
    return " ".join([word.folded for word in words])
