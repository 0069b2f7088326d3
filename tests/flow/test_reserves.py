"""Who keeps back how much of a budget: a worker's typed failure must reach a fuser that still waits."""

import pytest

from fanfuse_backend_workers.domain.budget import time_for_search_ms
from fanfuse_contracts import limits
from fanfuse_fuser.domain.budget import left_to_fetch_ms, left_to_wait_ms


@pytest.mark.parametrize("budget_ms", [limits.MIN_BUDGET_MS, 100, 200, 500, 1_000, limits.DEFAULT_BUDGET_MS, 30_000])
def test_a_worker_gives_up_before_the_fuser_does(budget_ms: int) -> None:
    """HEA-05: else an embedder that hangs is told as a time-out of its engine."""
    search_ms = time_for_search_ms(budget_ms, budget_ms)
    wait_ms = left_to_wait_ms(0.0, budget_ms, include_text=True)
    assert 0 < search_ms < wait_ms < left_to_fetch_ms(0.0, budget_ms) < budget_ms
    assert wait_ms - search_ms >= min(60.0, budget_ms * 0.1)
