"""What a run with an engine in trouble may break, and what an answer tells of a list that it lacks."""

import asyncio
from typing import Any

import pytest

from fanfuse_contracts.answer import Answer, Coverage, LaneReport
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, RejectionCode, Status
from fanfuse_contracts.plan import Rejection


@pytest.fixture(scope="module")
def trouble(bench_module):
    return bench_module("trouble")


@pytest.fixture(scope="module")
def subjects(bench_module):
    return bench_module("compare_subjects")


@pytest.fixture(scope="module")
def outcome(bench_module):
    def build(answered: int = 1_000, latency_ms: float = 200.0, **stated: Any):
        known = {"queries": 1_000, "seconds": 2.0, "latencies_ms": (latency_ms,) * answered, "cpu_s": 1.0}
        return bench_module("compare_outcome").Outcome("Fanfuse", **known | {"whole": 0, "named": answered} | stated)

    return build


def answer(status: Status, *lanes: LaneReport, **stated: Any) -> Answer:
    return Answer(tenant="t", query_id="q", status=status, coverage=Coverage(expected=3, lanes=lanes), **stated)


def lane(kind: Kind, outcome: LaneOutcome = LaneOutcome.ANSWERED, **stated: Any) -> LaneReport:
    return LaneReport(lane=kind.value, corpus="docs", kind=kind, backend="main", outcome=outcome, **stated)


def test_one_query_of_a_thousand_may_go_without_hits(trouble, outcome):
    assert trouble.broken(outcome(999), 1_000) == []
    assert trouble.broken(outcome(998), 1_000) == ["998 of 1000 answered, under 99.9%"]


def test_answers_must_be_in_time_and_say_what_they_lack(trouble, outcome):
    late, silent = outcome(latency_ms=1_001.0), outcome(whole=1, named=998)

    assert trouble.broken(late, 1_000) == ["p95 1001 ms, over the budget of 1000 ms"]
    assert trouble.broken(silent, 1_000) == ["1 answers lack a list and do not say so"]


def test_no_answer_at_all_is_late_too(trouble, outcome):
    assert trouble.broken(outcome(0, failed={"expired": 1_000}), 1_000) == [
        "0 of 1000 answered, under 99.9%",
        "p95 nan ms, over the budget of 1000 ms",
    ]


def test_a_run_is_kept_only_if_every_trouble_is(trouble, outcome):
    dead, slow = trouble.TROUBLES[:2]

    kept = trouble.report([(dead, outcome()), (slow, outcome())], 1_000)
    broken = trouble.report([(dead, outcome()), (slow, outcome(900))], 1_000)

    assert kept.kept
    assert "| Fanfuse, one engine slow | 100.0 % | 200 / 200 / 200 | 100.0 % |" in kept.text
    assert not broken.kept
    assert broken.text.endswith("- **broken**: slow: 900 of 1000 answered, under 99.9%")


def test_an_answer_names_what_it_lacks_if_each_lane_without_a_list_has_its_reason(subjects):
    dead = lane(Kind.VECTOR, LaneOutcome.FAILED, failure=FailureKind.UNAVAILABLE, reason="connection refused")
    sound = (lane(Kind.KEYWORD), lane(Kind.GRAPH, LaneOutcome.CUT, reason="bounded"))

    assert subjects.missing(answer(Status.COMPLETE, lane(Kind.VECTOR), *sound)) == set()
    assert subjects.missing(answer(Status.PARTIAL, *sound)) == {Kind.VECTOR}
    assert subjects.names_what_is_missing(answer(Status.PARTIAL, dead, *sound))
    assert not subjects.names_what_is_missing(answer(Status.PARTIAL, *sound))
    assert not subjects.names_what_is_missing(answer(Status.COMPLETE, dead, *sound))
    late = lane(Kind.KEYWORD, LaneOutcome.LATE)
    assert not subjects.names_what_is_missing(answer(Status.PARTIAL, dead, late, sound[1]))


def test_a_refused_query_is_told_with_its_lanes(subjects):
    refusal = Rejection(code=RejectionCode.UNCONFIRMED, message="nothing answered", retryable=True)
    dead = lane(Kind.VECTOR, LaneOutcome.FAILED, failure=FailureKind.UNAVAILABLE)

    told = subjects.refused(answer(Status.FAILED, dead, lane(Kind.GRAPH, LaneOutcome.LATE), rejection=refusal))

    assert told == "failed: nothing answered [vector failed unavailable, graph late]"
    assert subjects.refused(answer(Status.COMPLETE, lane(Kind.GRAPH))) == "complete: no hits [graph answered]"


def test_an_idle_process_tells_how_late_it_was_woken(bench_module):
    said = bench_module("pulse").in_words([1.0] * 98 + [250.0, 900.0])

    assert said.endswith("was woken late by p99 900 ms, at most 900 ms; 2 times by over 200 ms.")


async def test_the_idle_process_runs_beside_and_tells_how_it_fared(bench_module):
    async with bench_module("pulse").beside() as idle, asyncio.timeout(30):
        while "nan" in (said := await idle.told()):
            pass

    assert "at most" in said
