"""Turns an engine's own list into a total order: score, then chunk id.

In: a search that gives the best n scores, and a way to read the hits behind them. Out: exactly the best `window` in
total order. An engine cuts its list in the middle of a tie by an order of its own, so more is asked for until no tied
hit is missing; only hits that may be in the window are read.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from fanfuse_backend_workers.ports import EngineHit, EngineResult

T = TypeVar("T")
Scored = tuple[float | None, T]
"""A score and the engine's own reference to a hit."""

GROWTH: Final = 4
"""Each time a tie goes on, this many times more is asked for."""


def best_hits(
    search: Callable[[int], Sequence[Scored[T]]],
    read: Callable[[Sequence[Scored[T]]], Sequence[EngineHit]],
    window: int,
) -> EngineResult:
    """The first `window` hits; those without a finite score or a chunk id are dropped and counted.

    `search(n)`: the n best, best first. `read(found)`: their hits, in any order.
    """
    found, dropped = _whole_ties(search, window)
    hits = [hit for hit in read(found) if hit.chunk_id]
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
    return EngineResult(tuple(ordered[:window]), dropped=dropped + len(found) - len(hits))


def _whole_ties(search: Callable[[int], Sequence[Scored[T]]], window: int) -> tuple[list[Scored[T]], int]:
    """All that may be in the window, and how many had no finite score."""
    limit = window + 1
    while (settled := settle(search(limit), limit, window)) is None:
        limit *= GROWTH
    return settled


def settle(found: Sequence[Scored[T]], limit: int, window: int) -> tuple[list[Scored[T]], int] | None:
    """Of the `limit` best: all that may be in the window, and how many had no finite score; None where more is to be
    asked for, because a tie at the end of the window may go on."""
    sound = [(score, reference) for score, reference in found if score is not None and math.isfinite(score)]
    lowest = sound[window - 1][0] if len(sound) >= window else -math.inf
    if len(found) < limit or (sound and sound[-1][0] < lowest):
        kept: list[Scored[T]] = [(score, reference) for score, reference in sound if score >= lowest]
        return kept, len(found) - len(sound)
    return None
