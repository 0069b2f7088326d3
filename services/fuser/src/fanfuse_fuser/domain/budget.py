"""How a query's time is shared out: a budget in, the moments to stop waiting out. Durations only, never a deadline.

The reserves are measured (see the README): they cover 99 % of text fetches and publishes of a loaded process.
"""

from typing import Final

TEXT_RESERVE_MS: Final = 60.0
PUBLISH_RESERVE_MS: Final = 20.0
_MAX_SHARE: Final = 0.2
"""A short budget is still mostly for searching."""


def reserve_ms(budget_ms: int, *, include_text: bool) -> float:
    """Time kept back from waiting for lanes, so that the answer is out within the budget."""
    wanted = PUBLISH_RESERVE_MS + (TEXT_RESERVE_MS if include_text else 0.0)
    return min(wanted, budget_ms * _MAX_SHARE)


def publish_reserve_ms(budget_ms: int) -> float:
    """Time kept back from the text fetch."""
    return min(PUBLISH_RESERVE_MS, budget_ms * _MAX_SHARE / 4)


def left_to_wait_ms(elapsed_ms: float, budget_ms: int, *, include_text: bool) -> float:
    """How long lanes may still be waited for; zero or less: stop."""
    return budget_ms - reserve_ms(budget_ms, include_text=include_text) - elapsed_ms


def left_to_fetch_ms(elapsed_ms: float, budget_ms: int) -> float:
    """How long texts may still be waited for; zero or less: do not ask."""
    return budget_ms - publish_reserve_ms(budget_ms) - elapsed_ms
