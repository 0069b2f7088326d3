"""Words of a text with their places.

In: a normalised text. Out: words; a run of a script written without blanks is one `Word` with `spaced` False.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from fanfuse_classifier.domain.scripts import UNSPACED
from fanfuse_classifier.domain.text import MARKS, fold, normalise

# "++" and "#" stay with their word: c++ and c# are not c.
_WORD: Final = re.compile(
    rf"(?P<run>[{UNSPACED}][{UNSPACED}{MARKS}]*)"
    rf"|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{MARKS}]|[\u200c\u200d])*(?:\+\+|\#)?"
)
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:\+\+|#)?")
"""What `_WORD` finds in ASCII, in a third of the time."""


class Span(Protocol):
    """A stretch of the text."""

    @property
    def start(self) -> int:
        """First character."""
        ...

    @property
    def end(self) -> int:
        """First character behind it."""
        ...


class Word(NamedTuple):
    """One word, or one run of an unspaced script."""

    text: str
    folded: str
    start: int
    end: int
    spaced: bool

    @property
    def units(self) -> float:
        """Its length in words: two characters of an unspaced script count as one."""
        return 1.0 if self.spaced else (self.end - self.start) / 2


def read_words(text: str) -> tuple[Word, ...]:
    """Every word, in order."""
    if text.isascii():
        folded = fold(text)
        spans = [match.span() for match in _ASCII_WORD.finditer(text)]
        return tuple([Word(text[start:end], folded[start:end], start, end, True) for start, end in spans])
    return tuple(
        Word(match[0], fold(match[0]), match.start(), match.end(), match["run"] is None)
        for match in _WORD.finditer(text)
    )


@lru_cache(maxsize=2)
def read_text(text: str) -> tuple[str, tuple[Word, ...]]:
    """The normalised text and its words; of the last texts they are known: shape, terms and scores ask in turn."""
    normalised = normalise(text)
    return normalised, read_words(normalised)


def outside(words: Iterable[Word], spans: Iterable[Span]) -> tuple[Word, ...]:
    """The words that no span covers, even in part; of a run without blanks what is left of it. Spans may overlap."""
    ordered = sorted((span.start, span.end) for span in spans)
    kept: list[Word] = []
    place, covered = 0, 0
    for word in words:
        if covered <= word.start and (place == len(ordered) or ordered[place][0] >= word.end):
            kept.append(word)
            continue
        begin = max(word.start, covered)
        while place < len(ordered) and ordered[place][0] < word.end:
            start, end = ordered[place]
            kept.extend(_piece(word, begin, start))
            covered = max(covered, end)
            begin = max(begin, covered)
            place += 1
        kept.extend(_piece(word, begin, word.end))
    return tuple(kept)


def _piece(word: Word, start: int, end: int) -> tuple[Word, ...]:
    """The word if it is whole; a stretch of it if words have no blanks between them."""
    if start == word.start and end == word.end:
        return (word,)
    if word.spaced or start >= end:
        return ()
    text = word.text[start - word.start : end - word.start]
    return (Word(text, fold(text), start, end, spaced=False),)
