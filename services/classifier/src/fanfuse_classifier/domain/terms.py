"""Terms of a text, for weights and rules.

In: a text. Out: `Terms`: words folded to one form, with word boundaries per script. Where words have blanks between
them a term matches whole words only (log is not in logo); in Hangul it matches from the start of a word, because
particles follow the noun; in scripts without blanks it matches anywhere.
"""

import re
from dataclasses import dataclass
from typing import Final

from fanfuse_classifier.domain.scripts import HANGUL
from fanfuse_classifier.domain.text import normalise
from fanfuse_classifier.domain.words import Word, read_words

MAX_WORDS: Final = 3
"""Longest term in words that a weight may have."""
MAX_UNSPACED_CHARS: Final = 8
"""Longest term in characters that a weight may have in a script without blanks."""

_ENDS_IN_HANGUL: Final = re.compile(f"[{HANGUL}]$")


@dataclass(frozen=True, slots=True)
class Terms:
    """A text as its folded words, each with one blank on both sides."""

    padded: str

    def contains(self, pattern: str) -> bool:
        """True if a pattern of `match_pattern` is in the text."""
        return pattern in self.padded


def read_terms(*texts: str) -> Terms:
    """The terms of some texts; no term spans two of them."""
    return Terms(" \n ".join(["", *(_joined(read_words(normalise(text))) for text in texts), ""]))


def canonical(term: str) -> str:
    """The one form of a term: folded words with single blanks; empty if it has no word."""
    return _joined(read_words(normalise(term)))


def match_pattern(term: str) -> str:
    """What to look for in `Terms`, with the boundaries of the term's script; empty if the term has no word."""
    words = read_words(normalise(term))
    if not words:
        return ""
    last = words[-1]
    left = " " if words[0].spaced else ""
    right = " " if last.spaced and not _ENDS_IN_HANGUL.search(last.folded) else ""
    return f"{left}{_joined(words)}{right}"


def weighable_terms(*texts: str) -> frozenset[str]:
    """Every term of the texts that a weight may be given for: one to three words, or some characters of a run."""
    found: set[str] = set()
    for text in texts:
        words = read_words(normalise(text))
        for place, word in enumerate(words):
            for count in range(1, MAX_WORDS + 1):
                found.add(_joined(words[place : place + count]))
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
    return " ".join(word.folded for word in words)
