"""Growth: multiples of the first row, slopes, and what a round of queries comes to."""

from argparse import Namespace
from dataclasses import replace
from typing import Any

import pytest


@pytest.fixture(scope="module")
def series(bench_module):
    return bench_module("growth_series")


@pytest.fixture(scope="module")
def asking(bench_module):
    return bench_module("growth_asking")


@pytest.fixture
def lanes(series):
    rows = ((1, 10.0, 2.0), (2, 12.0, 3.0), (4, 16.0, 5.0))
    return series.Series("lanes", "lane", ("flow ms", "floor ms"), rows, "As asked.", ((0, 1),))


def test_each_cell_is_told_as_a_multiple_of_the_first_row(series, lanes):
    assert series.series_table(lanes).splitlines()[2:] == [
        "| 1 | 10.00 (× 1.00) | 2.00 (× 1.00) |",
        "| 2 | 12.00 (× 1.20) | 3.00 (× 1.50) |",
        "| 4 | 16.00 (× 1.60) | 5.00 (× 2.50) |",
        "| per lane | 2 | 1 |",
        "| flow over floor, per lane | 2.00 × |  |",
    ]


def test_without_a_floor_there_is_no_ratio_of_slopes(series):
    documents = series.Series("documents", "document", ("ms",), ((2_000, 4.0), (20_000, 8.0)))

    assert series.report([documents]).splitlines()[-3:] == [
        "| 2,000 | 4.00 (× 1.00) |",
        "| 20,000 | 8.00 (× 2.00) |",
        "| per document | 0.000222 |",
    ]


def test_the_picture_has_a_curve_for_each_column_that_is_to_be_drawn(series, lanes):
    both = replace(lanes, drawn=(0, 1))
    top_k = series.Series("top_k", "hit", ("CPU ms", "p50 ms"), ((10, 3.0, 9.0), (100, 4.0, 9.0)))

    drawn = series.picture([both, top_k])

    assert drawn.count("<circle") == 8
    assert "lanes, floor ms" in drawn
    assert "top_k, p50 ms" not in drawn
    assert "top_k, CPU ms" in drawn


class Subject:
    """Answers each round with the next of its runs."""

    def __init__(self, *runs: Any) -> None:
        self._runs = list(runs)
        self.loads: list[Any] = []

    async def run(self, _questions: object, load: Any) -> Any:
        self.loads.append(load)
        return self._runs.pop(0)


def run(p50: float, status: str = "complete", lost: int = 0) -> Namespace:
    spread = Namespace(p50=p50)
    return Namespace(name="flow", caller_ms=spread, cpu_ms=2 * p50, lanes=3.0, statuses={status: 9}, lost=lost)


async def test_medians_of_rounds_with_the_longest_budget(asking):
    subject = Subject(run(1.0), run(9.0), run(2.0))

    costs = await asking.in_turn(Namespace(rounds=3, queries=9), [asking.Ask(subject, None, {"top_k": 50})])

    assert costs == [asking.Cost(2.0, 4.0, 3.0)]
    assert subject.loads[0].fields == {"include_text": False, "budget_ms": 30_000, "top_k": 50}


@pytest.mark.parametrize("wrong", [{"status": "expired"}, {"lost": 1}])
async def test_a_round_with_an_unanswered_query_is_no_figure(asking, wrong):
    with pytest.raises(AssertionError):
        await asking.in_turn(Namespace(rounds=1, queries=9), [asking.Ask(Subject(run(1.0, **wrong)), None, {})])


async def test_every_text_goes_with_what_belongs_to_it(bench_module):
    questions = bench_module("corpora").Questions("docs", 2, ("a #", "b"), ({"top_k": 1}, {"top_k": 2}))

    assert questions.queries(3, "r", include_text=False) == {
        "r-0": {"text": "a 0", "top_k": 1, "include_text": False},
        "r-1": {"text": "b", "top_k": 2, "include_text": False},
        "r-2": {"text": "a 2", "top_k": 1, "include_text": False},
    }
