"""How much of a query's budget a search may use. Durations in milliseconds; knows no clock and no deadline."""

from typing import Final

REPLY_RESERVE_MS: Final = 160.0
"""Kept back so that a typed failure still reaches the fuser while it waits: it keeps up to 100 ms itself."""
_MAX_SHARE: Final = 0.3
"""Over the fuser's share of a short budget, for the same reason."""


def time_for_search_ms(remaining_ms: float, budget_ms: int) -> float:
    """What is left for embedding and search; zero or less: answer `expired` without asking anybody."""
    return remaining_ms - min(REPLY_RESERVE_MS, budget_ms * _MAX_SHARE)
