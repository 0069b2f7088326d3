"""All plans of a process: one answer each, counted once."""

import asyncio

import pytest

from fanfuse_contracts.enums import Kind, RejectionCode, Status
from fanfuse_fuser.fuser import Fuser
from fanfuse_fuser.joining import World
from fanfuse_runtime.cancelled import MAX_REMEMBERED, Cancelled
from fanfuse_runtime.metrics import Metrics
from fanfuse_testing.samples import counted
from tests.unit.fuser.fuser_builders import (
    QUERY,
    TENANT,
    LoopClock,
    MemoryAnswers,
    MemoryCancellations,
    MemoryOutcomes,
    MemoryPools,
    MemoryQuality,
    MemoryReplies,
    MemoryRoutes,
    MemoryTexts,
    hits,
    lane,
    planned,
    raw,
    reply,
)

VECTOR, KEYWORD = lane("vector"), lane("keyword", backend="kw")
PLAN = planned([VECTOR, KEYWORD])


class StoppedClock(LoopClock):
    """Times of one length in every answer."""

    def elapsed_ms(self, submitted_ns: int) -> float:
        return 1.0


class Process:
    def __init__(self, stored=(), max_bytes=512 * 1024, clock=None):
        self.replies, self.pools = MemoryReplies([raw(one) for one in stored]), MemoryPools()
        self.answers, self.outcomes, self.metrics = MemoryAnswers(max_bytes), MemoryOutcomes(), Metrics()
        self.routes, self.quality = MemoryRoutes(), MemoryQuality()
        world = World(self.replies, MemoryTexts(), self.pools, clock or LoopClock())
        self.cancellations = MemoryCancellations()
        self.fuser = Fuser(
            world, self.answers, self.outcomes, self.cancellations, self.routes, self.quality, self.metrics
        )

    def counted(self, name, **labels):
        return counted(self.metrics.registry, name, **labels)


async def test_counts_and_reports():
    process = Process([reply(KEYWORD, hits("a"))])
    process.pools.gone = {(Kind.VECTOR, "main")}
    await process.fuser.answer(PLAN)
    assert [answer.status for answer in process.answers.stored] == [Status.PARTIAL]
    assert process.outcomes.reported == {"docs-vector": "no_worker"}
    assert process.counted("fanfuse_bm25_fallback_total", reason="no_worker") == 1
    assert process.counted("fanfuse_join_lanes_total", outcome="answered") == 1
    assert process.counted("fanfuse_join_lanes_total", outcome="failed") == 1
    assert process.counted("fanfuse_duplicates_total", stage="fuser") == 0


async def test_a_second_plan_of_a_query_waits_for_the_first():
    """JOI-05: the first plan wins; a conflicting one with fewer lanes ends no join early."""
    process = Process([reply(KEYWORD, hits("a"))])
    first = asyncio.create_task(process.fuser.answer(PLAN))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(process.fuser.answer(planned([KEYWORD])))
    await asyncio.sleep(0.01)
    assert process.answers.stored == []
    process.replies.hear(reply(VECTOR, hits("a")))
    await asyncio.gather(first, second)
    assert [len(answer.coverage.lanes) for answer in process.answers.stored] == [2]
    assert process.answers.refused == []


async def test_when_the_first_run_breaks_the_second_takes_over():
    process = Process([reply(KEYWORD, hits("a")), reply(VECTOR, hits("a"))])
    publish = process.answers.publish
    broken = asyncio.Event()

    async def fail_once(answer, body):
        if not broken.is_set():
            broken.set()
            await asyncio.sleep(0.01)
            raise ConnectionError("the broker is away")
        return await publish(answer, body)

    process.answers.publish = fail_once  # type: ignore[method-assign]
    first, second = (asyncio.create_task(process.fuser.answer(PLAN)) for _ in range(2))
    with pytest.raises(ConnectionError):
        await first
    await second
    assert len(process.answers.stored) == 1


async def test_an_answer_stored_by_another_fuser_is_not_counted():
    process = Process([reply(KEYWORD, hits("a")), reply(VECTOR, hits("a"))])
    await process.fuser.answer(PLAN)
    await process.fuser.answer(PLAN)
    assert (len(process.answers.stored), len(process.answers.refused)) == (1, 1)
    assert process.routes.told == process.quality.counted == process.answers.stored
    assert process.counted("fanfuse_join_lanes_total", outcome="answered") == 2
    assert process.counted("fanfuse_duplicates_total", stage="fuser") == 1


@pytest.mark.parametrize("before", [True, False])
async def test_a_cancelled_query_has_one_answer(before):
    process = Process()
    if before:
        process.fuser.cancel(TENANT, QUERY)
    else:
        asyncio.get_running_loop().call_later(0.01, process.fuser.cancel, TENANT, QUERY)
    await process.fuser.answer(PLAN)
    (answer,) = process.answers.stored
    assert answer.rejection is not None
    assert (answer.status, answer.rejection.code) == (Status.EXPIRED, RejectionCode.CANCELLED)
    assert answer.elapsed_ms < 1_500.0


async def test_work_for_lanes_that_were_not_waited_for_is_called_off_once_the_answer_is_stored():
    process, may = Process([reply(KEYWORD, hits("a"))]), lane("vector", requirement="may")
    publish = process.answers.publish

    async def before_anything_is_called_off(answer, body):
        assert process.cancellations.published == []
        return await publish(answer, body)

    process.answers.publish = before_anything_is_called_off  # type: ignore[method-assign]
    await process.fuser.answer(planned([may, KEYWORD]))
    assert process.cancellations.published == [(TENANT, QUERY)]
    assert process.outcomes.reported == {}, "nobody is to blame"
    assert process.counted("fanfuse_join_lanes_total", outcome="not_waited") == 1


async def test_where_every_lane_replied_nothing_is_called_off():
    process = Process([reply(KEYWORD, hits("a")), reply(VECTOR, hits("a"))])
    await process.fuser.answer(PLAN)
    assert process.cancellations.published == []


async def test_another_tenant_s_cancellation_changes_nothing():
    process = Process([reply(KEYWORD, hits("a")), reply(VECTOR, hits("a"))])
    process.fuser.cancel("other", QUERY)
    await process.fuser.answer(PLAN)
    assert process.answers.stored[0].status is Status.COMPLETE


async def test_the_answer_fits_the_broker():
    stored = [reply(KEYWORD, hits(*"abcdefgh")), reply(VECTOR, hits(*"abcdefgh"))]
    roomy = Process(stored, clock=StoppedClock())
    await roomy.fuser.answer(PLAN)
    limit = len(roomy.answers.stored[0].to_json()) - 20
    tight = Process(stored, max_bytes=limit, clock=StoppedClock())
    await tight.fuser.answer(PLAN)
    (answer,) = tight.answers.stored
    assert len(answer.to_json()) <= limit
    assert answer.missing_texts == ("h",)


def test_cancellations_are_bounded_in_time_and_number():
    cancelled = Cancelled()
    cancelled.remember(("a", "q0"), 0.0)
    cancelled.remember(("a", "q1"), 29.0)
    assert ("a", "q0") in cancelled
    cancelled.remember(("a", "q2"), 30.5)
    assert [("a", q) in cancelled for q in ("q0", "q1", "q2")] == [False, True, True]
    for number in range(MAX_REMEMBERED + 5):
        cancelled.remember((f"b{number % 20}", str(number)), 31.0)
    assert ("a", "q1") not in cancelled
    assert ("b0", "0") not in cancelled
    assert ("b4", "10004") in cancelled
