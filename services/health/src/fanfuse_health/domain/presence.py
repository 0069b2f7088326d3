"""Which workers serve a pool, and when all of them had last been replaced.

In: one look per tick, monotonic seconds of this process. Out: the next presence. It only remembers; `returned` tells
whether a state may be the fault of workers that are gone, `transitions.probe_due` decides what follows.
"""

import math
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_health.domain.standing import Standing


class Presence(NamedTuple):
    """What was seen of one pool."""

    workers: frozenset[str] = frozenset()
    """Those of the last renewal that have been there ever since; empty while the pool is absent."""
    renewed_s: float = -math.inf
    """When a worker was there again, and none of those before."""


def look(before: Presence | None, workers: frozenset[str], now_s: float) -> Presence:
    """The presence after one look. None: it is the first, so nobody knows who was there before."""
    if before is None:
        return Presence(workers)
    stayed = before.workers & workers
    if stayed or not workers:
        return before._replace(workers=stayed)
    return Presence(workers, now_s)


def returned(standing: Standing, presence: Presence) -> bool:
    """True if the pool was renewed since the backend's state began: what was seen before, its dead workers did.

    Calls of a dead worker fail until its absence is known, so a degradation that outcomes made may come that much later
    than its successor.
    """
    judged = standing.record is not None and standing.record.failures > 0
    return presence.renewed_s > standing.entered_s - (limits.ABSENT_AFTER_S if judged else 0.0)
