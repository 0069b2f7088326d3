"""Turns an engine's own list into a total order: score, then chunk id.

In: a fetch that returns the best n hits. Out: exactly the best `window` in total order. An engine cuts its list in the
middle of a tie by an order of its own, so more is fetched until no tied hit is missing.
"""

import math
from collections.abc import Callable, Sequence

from fanfuse_backend_workers.ports import EngineHit, EngineResult

_GROWTH = 4


def best_hits(fetch: Callable[[int], Sequence[EngineHit]], window: int) -> EngineResult:
    """The first `window` hits; those without a chunk id or a finite score are dropped and counted."""
    limit = window + 1
    while True:
        found = fetch(limit)
        sound = [hit for hit in found if hit.chunk_id and math.isfinite(hit.score)]
        dropped = len(found) - len(sound)
        if len(found) < limit or (len(sound) > window and sound[-1].score < sound[window - 1].score):
            break
        limit *= _GROWTH
    ordered = sorted(sound, key=lambda hit: (-hit.score, hit.chunk_id))
    return EngineResult(tuple(ordered[:window]), dropped=dropped)
