"""Cuts long text to size at the best boundary it has: paragraph, line, sentence, clause, word, character.

In: any text and two sizes in characters. Out: spans that, joined, hold every non-blank character in order. Pure and
linear in the length of the text, whatever it holds.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from fanfuse_indexing import limits

Span = tuple[int, int]

_BREAKS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?…])[\"'”’)\]]{0,3}\s+|(?<=[。！？｡؟۔।])[」』”’）\"]{0,3}\s*"),
    re.compile(r"(?<=[;:,])\s+|(?<=[，、；：،؛])"),
    re.compile(r"\s+"),
)
_MAX_CLUSTER = 64
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


def split_spans(
    text: str, target: int = limits.TARGET_CHUNK_CHARS, maximum: int = limits.MAX_CHUNK_CHARS
) -> list[Span]:
    """Spans of about `target` and at most `maximum` characters, without blank ends; none for blank text."""
    packed = _pack(_units(text, 0, len(text), maximum, 0), target)
    stripped = [span for start, end in packed if (span := _strip(text, start, end))]
    return _join_tail(stripped, target, maximum)


def split_text(text: str, target: int = limits.TARGET_CHUNK_CHARS, maximum: int = limits.MAX_CHUNK_CHARS) -> list[str]:
    """The texts of `split_spans`."""
    return [text[start:end] for start, end in split_spans(text, target, maximum)]


def _units(text: str, start: int, end: int, maximum: int, level: int) -> Iterator[Span]:
    if end - start <= maximum:
        yield start, end
    elif level == len(_BREAKS):
        yield from _hard_cuts(text, start, end, maximum)
    else:
        cuts = [found.end() for found in _BREAKS[level].finditer(text, start, end)]
        for left, right in pairwise((start, *cuts, end)):
            if left < right:
                yield from _units(text, left, right, maximum, level + 1)


def _hard_cuts(text: str, start: int, end: int, maximum: int) -> Iterator[Span]:
    while end - start > maximum:
        cut = _between_characters(text, start, start + maximum)
        yield start, cut
        start = cut
    yield start, end


def _between_characters(text: str, start: int, cut: int) -> int:
    """The nearest cut at or before `cut` that doesn't part a letter from its marks or an emoji from its joiner."""
    for place in range(cut, max(start, cut - _MAX_CLUSTER), -1):
        after, before = text[place], text[place - 1]
        if after not in _JOINERS and before != "\u200d" and not unicodedata.category(after).startswith("M"):
            return place
    return cut


def _pack(units: Iterable[Span], target: int) -> Iterator[Span]:
    current: Span | None = None
    for start, end in units:
        if current and end - current[0] <= target:
            current = (current[0], end)
        else:
            if current:
                yield current
            current = (start, end)
    if current:
        yield current


def _strip(text: str, start: int, end: int) -> Span | None:
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    right = start + len(part.rstrip())
    return (left, right) if left < right else None


def _join_tail(spans: list[Span], target: int, maximum: int) -> list[Span]:
    if len(spans) < 2:
        return spans
    (start, _), (left, right) = spans[-2:]
    short = right - left < target * limits.MIN_TAIL_SHARE and right - start <= maximum
    return [*spans[:-2], (start, right)] if short else spans
