"""Answers of the last five minutes, and how many of them fell back on keywords: what an operator looks at first.

In: the process's own counters, looked at every second. Out: the difference to the oldest look. Bounded: one look in ten
seconds is kept.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry

from fanfuse_contracts import limits, metrics
from fanfuse_contracts.enums import FallbackReason
from fanfuse_contracts.health import RecentAnswers

_KEEP_EVERY_S: Final = 10.0


class _Look(NamedTuple):
    at_s: float
    answers: int
    fallbacks: dict[FallbackReason, int]


class Recent:
    """The looks of one process. `clock` is monotonic."""

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float] = time.monotonic) -> None:
        self._registry = registry
        self._clock = clock
        self._looks: deque[_Look] = deque([self._look()])

    def answers(self) -> RecentAnswers:
        """What was answered since the oldest look, at most five minutes ago."""
        now = self._look()
        while len(self._looks) > 1 and self._looks[1].at_s <= now.at_s - limits.RECENT_ANSWERS_S:
            self._looks.popleft()
        if now.at_s - self._looks[-1].at_s >= _KEEP_EVERY_S:
            self._looks.append(now)
        oldest = self._looks[0]
        rose = {reason: count - oldest.fallbacks.get(reason, 0) for reason, count in now.fallbacks.items()}
        return RecentAnswers(
            window_s=round(now.at_s - oldest.at_s, 1),
            answers=now.answers - oldest.answers,
            fallbacks={reason: count for reason, count in rose.items() if count},
        )

    def _look(self) -> _Look:
        answers, fallbacks = 0, dict.fromkeys(FallbackReason, 0)
        counted = (metrics.QUERIES_TOTAL.name, metrics.BM25_FALLBACK_TOTAL.name)
        for family in self._registry.restricted_registry(counted).collect():
            for sample in family.samples:
                if sample.name == metrics.QUERIES_TOTAL.name:
                    answers += int(sample.value)
                elif sample.name == metrics.BM25_FALLBACK_TOTAL.name:
                    fallbacks[FallbackReason(sample.labels["reason"])] += int(sample.value)
        return _Look(self._clock(), answers, fallbacks)
