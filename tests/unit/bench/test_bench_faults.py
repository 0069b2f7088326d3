"""Reports of runs under faults and of long runs: what is broken or grows is said, and makes the exit code."""

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from fanfuse_testing.faults.ledger import Balance, End
from fanfuse_testing.faults.run import Result
from fanfuse_testing.faults.vitals import Vitals


@pytest.fixture(scope="module")
def bench(bench_module: Callable[[str], ModuleType]):
    return SimpleNamespace(faults=bench_module("faults"), soak=bench_module("soak"))


def result(broken=(), settled=True, complete=99) -> Result:
    ends = {End.COMPLETE: complete, End.PARTIAL: 100 - complete}
    balance = Balance(ends, {"vector/main of docs: late": 1}, {}, 3, 2, (10.0, 20.0, 30.0), tuple(broken))
    return Result(balance, {"Overloaded": 4}, {"kill fuser-1": 5}, 12.0, settled)


def test_a_kept_ledger_is_told_with_its_figures(bench):
    report = bench.faults.report(result(), 7, 0.99)

    assert report.kept
    for said in (
        "| 7 | 12 | 100 | 4 Overloaded |",
        "| complete | 99 | 99.00% |",
        "| kill fuser-1 | 5 |",
        "1 vector/main",
    ):
        assert said in report.text
    assert "ledger kept: 99.00%" in report.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"broken": ["q1: unanswered"]}, "- **broken**: q1: unanswered"),
        ({"settled": False}, "still missing when the wait was over"),
        ({"complete": 98}, "98.00% complete in time (wanted 99.00%)"),
        ({"broken": [f"q{number}: unanswered" for number in range(25)]}, "and 5 more"),
    ],
)
def test_a_broken_ledger_says_so(bench, options, said):
    report = bench.faults.report(result(**options), 7, 0.99)

    assert not report.kept
    assert said in report.text
    assert "ledger BROKEN" in report.text


def readings(mb=100.0, more_mb=0.0, tasks=0, consumers=0, broker_mb=0.0) -> list[Vitals]:
    """Twelve minutes, in which something grows steadily by so much."""
    return [
        Vitals(
            minute * 60.0,
            {"broker": 50.0 + broker_mb * minute, "fuser-1": mb + more_mb * minute},
            {"fuser-1": 20 + tasks * minute},
            300,
            8 + consumers * minute,
        )
        for minute in range(1, 13)
    ]


@pytest.mark.parametrize(
    ("growth", "grown"),
    [
        ({}, []),
        ({"more_mb": 0.5}, []),
        ({"more_mb": 2.0}, ["fuser-1: MB"]),
        ({"tasks": 1}, ["fuser-1: tasks"]),
        ({"consumers": 1}, ["consumers"]),
        ({"broker_mb": 10.0}, []),
    ],
)
def test_what_grows_by_more_than_a_twentieth_is_named(bench, growth, grown):
    found, text = bench.soak.growth_report(readings(**growth), 300.0)

    assert found == grown
    assert "| fuser-1: MB |" in text
    assert ("**grew**" in text) == bool(grown)
