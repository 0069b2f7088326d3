"""Words of a text with their places.

In: a normalised text. Out: words; a run of a script written without blanks is one `Word` with `spaced` False.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from fanfuse_classifier.domain.scripts import UNSPACED
from fanfuse_classifier.domain.text import MARKS, fold

# "++" and "#" stay with their word: c++ and c# are not c.
_WORD: Final = re.compile(
    rf"(?P<run>[{UNSPACED}][{UNSPACED}{MARKS}]*)"
    rf"|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{MARKS}]|[\u200c\u200d])*(?:\+\+|\#)?"
)


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


@dataclass(frozen=True, slots=True)
class Word:
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
    return tuple(
        Word(match[0], fold(match[0]), match.start(), match.end(), match["run"] is None)
        for match in _WORD.finditer(text)
    )


def outside(words: Iterable[Word], spans: Iterable[Span]) -> tuple[Word, ...]:
    """The words that no span covers, even in part; spans may overlap."""
    ordered = sorted((span.start, span.end) for span in spans)
    kept: list[Word] = []
    place, covered = 0, 0
    for word in words:
        while place < len(ordered) and ordered[place][0] < word.end:
            covered = max(covered, ordered[place][1])
            place += 1
        if word.start >= covered:
            kept.append(word)
    return tuple(kept)
