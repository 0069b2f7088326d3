"""The vector worker is killed: what callers and operators see until it is back.

Each test is a step of one outage, in order: healthy, just killed, known, recovered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.enums import BackendHealth, FailureKind, FallbackReason, Kind, LaneOutcome, Stage, Status
from fanfuse_contracts.health import BackendState
from fanfuse_testing.flow import eventually
from fanfuse_testing.processes import Processes
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT, WORKER = "acme", "vector"
KEY = "vector.main"
BUDGET_MS = 1_500
HEALTH = {"FANFUSE_HEALTH_DEGRADED_FOR_S": "1"}
POOLS = "FANFUSE_WORKER_POOLS"


@dataclass(slots=True)
class Outage:
    """The processes, and every state of the vector backend that was ever stored."""

    processes: Processes
    states: list[BackendState] = field(default_factory=list)

    async def hear(self, msg: Msg) -> None:
        self.states.append(BackendState.from_json(msg.data))

    async def ask(self, *seeds: str) -> Answer:
        async with self.processes.client(TENANT) as client:
            return await client.ask(QUESTION, graph_seeds=seeds, budget_ms=BUDGET_MS)

    async def fallbacks(self) -> dict[FallbackReason, float]:
        """The counter as the fuser exports it."""
        metric = self.processes.metric
        return {r: await metric("fuser", "fanfuse_bm25_fallback_total", reason=r.value) for r in FallbackReason}

    async def gauge(self) -> float:
        return await self.processes.metric("health", "fanfuse_backend_degraded", backend="main", kind="vector")

    @property
    def history(self) -> list[BackendHealth]:
        return [state.state for state in self.states]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def outage(processes: Processes) -> AsyncIterator[Outage]:
    await processes.index(TENANT, "docs", library(), FIELDS)
    for stage in (Stage.CLASSIFIER, Stage.CORPUS_ROUTER, Stage.FUSER):
        processes.launch(stage, stage.value)
    processes.launch(Stage.HEALTH, "health", HEALTH)
    processes.launch(Stage.BACKEND_WORKERS, "others", {POOLS: "keyword/main,graph/main"})
    processes.launch(Stage.BACKEND_WORKERS, WORKER, {POOLS: "vector/main"})
    await processes.ready()
    started = Outage(processes)
    bus = processes.operator.bus
    async with bus.subscribed(f"$KV.backend_state.{KEY}", started.hear):
        await bus.nc.flush()
        yield started


def lane(answer: Answer, kind: Kind) -> LaneReport:
    (report,) = (report for report in answer.coverage.lanes if report.kind is kind)
    return report


def assert_keyword_only(answer: Answer) -> None:
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, True), answer.coverage
    assert answer.bm25_fallback_corpora == ("docs",)
    assert len(answer.bm25_fallback_reasons) == 1
    assert answer.hits
    assert {c.kind for hit in answer.hits for c in hit.contributions} == {Kind.KEYWORD}


def assert_partial(answer: Answer) -> None:
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, False), answer.coverage
    assert (answer.bm25_fallback_corpora, answer.bm25_fallback_reasons) == ((), ())
    assert {c.kind for hit in answer.hits for c in hit.contributions} == {Kind.KEYWORD, Kind.GRAPH}


async def is_whole(outage: Outage) -> bool:
    answer = await outage.ask(*SEEDS)
    return answer.status is Status.COMPLETE and lane(answer, Kind.VECTOR).outcome is LaneOutcome.ANSWERED


async def test_all_lanes_answer_before_it(outage: Outage) -> None:
    await eventually(lambda: is_whole(outage))
    answer = await outage.ask()
    assert (answer.status, answer.bm25_fallback) == (Status.COMPLETE, False)
    assert set((await outage.fallbacks()).values()) == {0.0}
    assert outage.states == []


async def test_before_the_absence_is_known_the_lane_is_lost_within_the_budget(
    outage: Outage, say: Callable[[str], None]
) -> None:
    """HEA-05: the first queries after the kill wait for the lane, and say that it is missing."""
    before = await outage.fallbacks()
    outage.processes.kill(WORKER)
    answers = await asyncio.gather(*(outage.ask() for _ in range(4)), *(outage.ask(*SEEDS) for _ in range(4)))
    for answer in answers:
        report = lane(answer, Kind.VECTOR)
        assert report.outcome is LaneOutcome.FAILED
        assert report.failure in {FailureKind.TIMEOUT, FailureKind.UNAVAILABLE}
        assert answer.elapsed_ms < 2 * BUDGET_MS
    for answer in answers[:4]:
        assert_keyword_only(answer)
        assert set(answer.bm25_fallback_reasons) <= {FallbackReason.TIMEOUT, FallbackReason.NO_WORKER}
    for answer in answers[4:]:
        assert_partial(answer)
    after = await outage.fallbacks()
    assert sum(after.values()) - sum(before.values()) == 4
    slowest = max(answer.elapsed_ms for answer in answers)
    say(f"kill -9 of the vector worker: the first answers came after at most {slowest:.0f} ms of {BUDGET_MS} ms")


async def test_once_known_nobody_waits_for_it(outage: Outage) -> None:
    """HEA-05: degraded in the registry, in answers, in decisions, in the metrics of fuser and health."""
    await eventually(lambda: BackendHealth.DEGRADED in outage.history, within_s=30.0)
    degraded = outage.states[0]
    assert (degraded.kind, degraded.backend, degraded.version) == (Kind.VECTOR, "main", 1)
    assert degraded.failures >= 3
    before = await outage.fallbacks()
    async with outage.processes.client(TENANT) as client:
        reply = await client.decide(QUESTION, graph_seeds=())
    assert reply.plan is not None
    assert reply.plan.decisions[0].bm25_fallback
    assert reply.plan.decisions[0].degraded_backends == ("vector/main",)

    without, with_seeds = await outage.ask(), await outage.ask(*SEEDS)
    assert_keyword_only(without)
    assert_partial(with_seeds)
    for answer in (without, with_seeds):
        assert lane(answer, Kind.VECTOR).outcome is LaneOutcome.SKIPPED_UNHEALTHY
        assert lane(answer, Kind.VECTOR).reason
    reason = without.bm25_fallback_reasons[0]
    assert reason in {FallbackReason.DEGRADED, FallbackReason.NO_WORKER}
    after = await outage.fallbacks()
    assert {r for r in FallbackReason if after[r] > before[r]} == {reason}
    assert after[reason] - before[reason] == 1

    async def told() -> bool:
        return await outage.gauge() == 1.0

    await eventually(told)
    state = await outage.processes.backend_state(KEY)
    assert state is not None
    assert state.state is not BackendHealth.HEALTHY


async def test_a_language_that_vectors_do_not_know_is_no_fallback(outage: Outage) -> None:
    """HEA-05: the answer to a Chinese question says itself why the vector lane was left out, and blames nobody."""
    async with outage.processes.client(TENANT) as client:
        answer = await client.ask("如何逐行读取文本文件的内容", graph_seeds=(), budget_ms=BUDGET_MS)
    report = lane(answer, Kind.VECTOR)
    assert report.outcome is LaneOutcome.SKIPPED_NO_INPUT
    assert "zh" in report.reason
    assert lane(answer, Kind.KEYWORD).outcome is LaneOutcome.EMPTY
    assert (answer.bm25_fallback, answer.hits) == (False, ())


async def test_it_recovers_by_a_probe(outage: Outage) -> None:
    """HEA-05: degraded → half-open → healthy in the registry, and whole answers again."""
    await outage.processes.restart(WORKER)
    await eventually(lambda: outage.history[-1] is BackendHealth.HEALTHY, within_s=60.0)
    assert outage.history[-3:] == [BackendHealth.DEGRADED, BackendHealth.HALF_OPEN, BackendHealth.HEALTHY]
    assert [state.version for state in outage.states] == list(range(1, len(outage.states) + 1))
    await eventually(lambda: is_whole(outage))
    answer = await outage.ask()
    assert (answer.status, answer.bm25_fallback, answer.bm25_fallback_reasons) == (Status.COMPLETE, False, ())

    async def told() -> bool:
        return await outage.gauge() == 0.0

    await eventually(told)
    before = await outage.fallbacks()
    await outage.ask()
    assert await outage.fallbacks() == before
