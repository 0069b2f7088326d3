"""How a query's time is shared out: a budget in, how long to wait for lanes and for texts out. Durations only.

The reserves are measured (see the README): they cover 99 % of text fetches and publishes of a fuser that shares two
cores with three times the work they can do.
"""

from typing import Final

TEXT_RESERVE_MS: Final = 60.0
PUBLISH_RESERVE_MS: Final = 40.0
MAX_SHARE: Final = 0.2
"""A short budget is still mostly for searching: the reserves shrink to this share of it."""


def _scale(budget_ms: int) -> float:
    return min(1.0, budget_ms * MAX_SHARE / (TEXT_RESERVE_MS + PUBLISH_RESERVE_MS))


def left_to_wait_ms(elapsed_ms: float, budget_ms: int, *, include_text: bool) -> float:
    """How long lanes may still be waited for, so that texts and answer are in time; zero or less: stop."""
    reserve_ms = PUBLISH_RESERVE_MS + (TEXT_RESERVE_MS if include_text else 0.0)
    return budget_ms - reserve_ms * _scale(budget_ms) - elapsed_ms


def left_to_fetch_ms(elapsed_ms: float, budget_ms: int) -> float:
    """How long texts may still be waited for, so that the answer is in time; zero or less: do not ask."""
    return budget_ms - PUBLISH_RESERVE_MS * _scale(budget_ms) - elapsed_ms
