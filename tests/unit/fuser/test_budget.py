"""JOI-06: a budget is a duration, and the answer is out within it."""

import pytest

from fanfuse_fuser.domain.budget import left_to_fetch_ms, left_to_wait_ms


@pytest.mark.parametrize(
    ("budget_ms", "lanes_end", "without_text", "texts_end"),
    [(2_000, 1_900, 1_960, 1_960), (500, 400, 460, 460), (200, 160, 184, 184), (50, 40, 46, 46)],
)
def test_reserves(budget_ms, lanes_end, without_text, texts_end):
    assert left_to_wait_ms(0.0, budget_ms, include_text=True) == pytest.approx(lanes_end)
    assert left_to_wait_ms(0.0, budget_ms, include_text=False) == pytest.approx(without_text)
    assert left_to_fetch_ms(0.0, budget_ms) == pytest.approx(texts_end)


def test_elapsed_time_is_taken_off():
    assert left_to_wait_ms(1_950.0, 2_000, include_text=True) == pytest.approx(-50.0)
    assert left_to_fetch_ms(1_950.0, 2_000) == pytest.approx(10.0)
