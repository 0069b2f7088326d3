"""Finds which of many terms are in a text, in time that grows with the text and not with the number of terms.

In: terms as configured, each with what it speaks for. Out: what is spoken for. Each term is filed under one word or
pair of characters that every text with the term has, and looked for only where the text has that.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from fanfuse_classifier.domain.terms import Pattern, Terms, read_pattern

T = TypeVar("T")

Filed = Sequence[tuple[Pattern, T]]
"""The terms filed under one anchor, each with what it speaks for."""


def file_terms(terms: Iterable[tuple[str, T]]) -> Mapping[str, Filed[T]]:
    """The terms by anchor, each under its rarest one; a term without a word is left out."""
    patterns = [(pattern, owner) for term, owner in terms if (pattern := read_pattern(term)) is not None]
    counts = Counter(anchor for pattern, _ in patterns for anchor in pattern.anchors)
    filed: dict[str, list[tuple[Pattern, T]]] = {}
    for pattern, owner in patterns:
        filed.setdefault(_rarest(pattern, counts), []).append((pattern, owner))
    return filed


def _rarest(pattern: Pattern, counts: Mapping[str, int]) -> str:
    return min(pattern.anchors, key=lambda anchor: (counts[anchor], -len(anchor), anchor))


def spoken_for(filed: Filed[T], terms: Terms) -> Iterator[T]:
    """Whatever the terms speak for that are in the text."""
    return (owner for pattern, owner in filed if pattern.is_in(terms))


class TermIndex(Generic[T]):
    """Configured terms; immutable."""

    def __init__(self, terms: Iterable[tuple[str, T]]) -> None:
        self._filed = file_terms(terms)

    def find(self, terms: Terms) -> Iterator[T]:
        """What the text's terms speak for, in no order, once for each term that is found."""
        if not self._filed:
            return
        for anchor in terms.anchors & self._filed.keys():
            yield from spoken_for(self._filed[anchor], terms)
