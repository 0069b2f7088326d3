"""The benchmark of routing decides real queries: so many corpora, lanes and times as it says."""

from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def routing(bench_module: Callable[[str], ModuleType]):
    return bench_module("routing")


@pytest.mark.parametrize(("strategy", "most"), [("learned", 64), ("static_rules", 64), ("all", 64)])
def test_decisions_are_made_and_timed(routing, strategy, most):
    timed = routing.measure(100, strategy, 8, 0)
    assert len(timed.decisions) == 8
    assert all(1 <= row.selected <= 32 and 1 <= row.lanes <= most for row in timed.decisions)
    assert all(row.classify_ns + row.plan_ns > 0 for row in timed.decisions)
    assert all(row.yardstick_ns > 0 for row in timed.decisions)
    if strategy == "all":
        assert {row.selected for row in timed.decisions} == {32}


def test_every_text_is_another_and_the_same_in_every_run(routing):
    first, again = (list(routing._queries(100, 40)) for _ in range(2))
    assert first == again
    assert len({query.text for query in first}) == 40


def test_the_report_has_a_line_per_size_and_strategy(routing):
    report = routing.report(routing.measure_all(2))
    assert len(report.splitlines()) == 2 + len(routing.SIZES) * len(routing.STRATEGIES)
    assert "| 100 | all | 32 | 64 |" in report


def test_a_decision_is_told_in_yardsticks_of_the_same_run(routing):
    rows = [routing.Decision(1, 2, 900_000, 300_000, 300_000, 200_000)] * 3
    line = routing.report([routing.Timed(100, "all", tuple(rows))]).splitlines()[-1]
    assert line.endswith("| 0.200 | 3.00 |")
