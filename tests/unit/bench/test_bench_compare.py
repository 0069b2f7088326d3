"""The comparison with peers: troubles, pace, tables, and rows of peers beside those of a flow."""

import asyncio
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind, Kind
from tests.unit.evaluation.records import asked


@pytest.fixture(autouse=True)
def _bench_is_importable(monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    monkeypatch.syspath_prepend(str(repository / "bench"))


async def test_only_one_engine_is_in_trouble():
    from fanfuse_bench.compare_engines import Situation, Trouble

    dead, refusing = Situation(0.0, Trouble.DEAD), Situation(0.0, Trouble.REFUSING)

    for kind in (Kind.KEYWORD, Kind.GRAPH):
        await dead.meet(kind)
    with pytest.raises(SearchError) as refused:
        await dead.meet(Kind.VECTOR)
    assert refused.value.kind is FailureKind.UNAVAILABLE
    refusals = 0
    for _ in range(400):
        try:
            await refusing.meet(Kind.VECTOR)
        except SearchError:
            refusals += 1
    assert 160 < refusals < 240


async def test_a_pace_keeps_so_many_calls_in_flight():
    from fanfuse_bench.pacing import paced

    running, most, done = 0, 0, 0

    async def call() -> None:
        nonlocal running, most, done
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0)
        running, done = running - 1, done + 1

    await paced([call] * 20, {"at_once": 3})
    assert (most, done) == (3, 20)
    await paced([call] * 5, {"rate": 1_000.0})
    assert done == 25


def outcome(name: str, cpu_s: float, **changed):
    from fanfuse_bench.compare_outcome import Outcome

    stated: dict[str, Any] = {"queries": 10, "seconds": 2.0, "latencies_ms": (10.0,) * 10, "cpu_s": cpu_s}
    return Outcome(name, **(stated | changed))


def test_ratios_are_those_within_a_round():
    from fanfuse_bench.compare_report import healthy_table, ratio

    rounds = [[outcome("LangChain", 1.0 * busy), outcome("Fanfuse", 2.0 * busy, beside_cpu_s=busy)] for busy in (1, 5)]

    assert ratio([2.0, 20.0], [1.0, 10.0]) == "2.00 (2.00 to 2.00)"
    lines = healthy_table(rounds).splitlines()
    assert lines[2].startswith("| LangChain | 100.0 % | 5 | 10 / 10 |")
    assert lines[2].endswith("| 3.00 (3.00 to 3.00) |")
    assert lines[3].endswith("|  |  |")


def test_a_trouble_tells_who_answers_in_time_and_names_what_is_missing():
    from fanfuse_bench.compare_engines import Trouble
    from fanfuse_bench.compare_report import report

    rounds = [[outcome("Fanfuse", 1.0)]]
    silent = outcome("Haystack", 1.0, latencies_ms=(900.0,) * 4, failed={"PipelineRuntimeError": 6})
    ours = outcome("Fanfuse", 1.0, whole=3, named=7)
    text = report(rounds, {Trouble.SLOW: [silent, ours]}, Namespace(queries=10, concurrency=8, budget_ms=400))

    assert "| Haystack | 40.0 % | 900 / 900 / 900 | 0.0 % | nothing is told | 6 PipelineRuntimeError |" in text
    assert "| Fanfuse | 100.0 % | 10 / 10 / 10 | 100.0 % | in 7 of 7 answers that miss it | none |" in text


def test_peers_are_judged_on_the_questions_of_each_collection():
    from fanfuse_bench.peer_quality import with_peers

    from fanfuse_evaluation.figures import figures_of

    records = [asked("q1"), asked("q1", collection="other"), asked("q2")]
    fused = {"A peer": [["d", "b"], ["x"], ["a"]]}

    first, second = with_peers(figures_of(records), records, fused)

    assert [row.name for row in first.rows][-1] == "A peer"
    assert first.rows[-1].values["nDCG@10"].tolist() == [1.0, 0.0]
    assert second.rows[-1].values["nDCG@10"].tolist() == [0.0]
