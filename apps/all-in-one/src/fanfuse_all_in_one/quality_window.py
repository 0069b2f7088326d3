"""Sums of counts over the last minutes, kept as time goes on: what came is added, what is too old is taken away.

In: events with the moment they were stored, in nanoseconds of broker time. Out: rows per corpus. Bounded by slots of
time and by what is wired, never by the number of fusers that tell; no clock and no bus.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import add, sub
from typing import Final

from fanfuse_contracts.enums import Kind
from fanfuse_contracts.quality import LaneQuality

Corpus = tuple[str, str]
"""Tenant and corpus."""
Lane = tuple[Corpus, Kind, str]
"""Corpus, kind and backend."""
_COUNTS: Final = ("answers", "lost", "compared", "found", "alone", "seats")
_Row = list[int]
"""How many events, and the sums of their counts."""
_SLOTS: Final = 90
"""What is told within a ninetieth of the window leaves it together."""


def _zero() -> _Row:
    return [0] * (1 + len(_COUNTS))


@dataclass(slots=True)
class _Slot:
    number: int
    rows: defaultdict[Lane, _Row] = field(default_factory=lambda: defaultdict(_zero))


class QualityWindow:
    """The last `within_s` seconds."""

    def __init__(self, within_s: float) -> None:
        self._within_ns = int(within_s * 1e9)
        self._slot_ns = max(1, self._within_ns // _SLOTS)
        self._slots: deque[_Slot] = deque()
        self._sums: defaultdict[Lane, _Row] = defaultdict(_zero)

    def add(self, corpus: Corpus, lanes: Iterable[LaneQuality], stored_ns: int) -> None:
        """One event. Events come in the order in which they were stored."""
        number = stored_ns // self._slot_ns
        if not self._slots or self._slots[-1].number < number:
            self._slots.append(_Slot(number))
        for lane in lanes:
            key, counts = (corpus, lane.kind, lane.backend), (1, *(getattr(lane, name) for name in _COUNTS))
            for rows in (self._slots[-1].rows, self._sums):
                rows[key] = list(map(add, rows[key], counts))

    def forget(self, now_ns: int) -> None:
        """Take away what is older than the window."""
        oldest = (now_ns - self._within_ns) // self._slot_ns
        while self._slots and self._slots[0].number < oldest:
            for key, counts in self._slots.popleft().rows.items():
                left = list(map(sub, self._sums[key], counts))
                if left[0]:
                    self._sums[key] = left
                else:
                    del self._sums[key]

    def rows(self) -> dict[Corpus, tuple[LaneQuality, ...]]:
        """The sums by corpus, both sorted; a lane of which nothing was told is not there."""
        found: dict[Corpus, list[LaneQuality]] = {}
        for corpus, kind, backend in sorted(self._sums, key=_order):
            counts = dict(zip(_COUNTS, self._sums[corpus, kind, backend][1:], strict=True))
            found.setdefault(corpus, []).append(LaneQuality(kind=kind, backend=backend, **counts))
        return {corpus: tuple(lanes) for corpus, lanes in found.items()}


def _order(lane: Lane) -> tuple[Corpus, int, str]:
    corpus, kind, backend = lane
    return corpus, list(Kind).index(kind), backend
