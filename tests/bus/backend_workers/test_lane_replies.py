"""One command, one typed reply: hits, failures, budgets, cancellations."""

import asyncio
import time

import pytest

from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchError, SearchRequest
from fanfuse_contracts import limits, streams, subjects
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.filters import Leaf, Op, digest
from fanfuse_contracts.health import BackendOutcome


async def test_a_lane_is_answered_with_what_was_applied(keyword_worker, caller, world) -> None:
    condition = Leaf(field="year", op=Op.GTE, value=2020)
    reply = await caller.ask("q1", filter=condition, text="two words", identifiers=("CVE-2026-1",), window=7)
    assert reply.outcome is LaneOutcome.ANSWERED
    assert [(hit.chunk_id, hit.rank) for hit in reply.hits] == [("g1-0", 1), ("g1-1", 2)]
    # Recomputed from what was applied: the command's own digest was nonsense.
    assert reply.filter_digest == digest("acme", "docs", condition)
    assert reply.generation == "g1"
    assert reply.worker == keyword_worker.context.instance
    assert reply.elapsed_ms > 0
    (request,) = world.searches
    assert (request.tenant, request.corpus, request.text, request.window) == ("acme", "docs", "two words", 7)
    assert (request.identifiers, request.filter) == (("CVE-2026-1",), condition)
    assert 0 < request.timeout_s < 5.0
    await caller.drained()


async def test_no_hit_is_empty_and_a_bounded_list_is_cut(keyword_worker, caller, world) -> None:
    async def nothing(_engine, _request) -> EngineResult:
        return EngineResult(())

    world.behaviour = nothing
    assert (await caller.ask("q1")).outcome is LaneOutcome.EMPTY

    async def bounded(_engine, _request) -> EngineResult:
        return EngineResult((EngineHit("a", 1.0, "h"),), cut="fan-out")

    world.behaviour = bounded
    assert (await caller.ask("q2")).outcome is LaneOutcome.CUT


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.EXPIRED])
async def test_a_typed_failure_stays_typed_and_is_never_empty(keyword_worker, caller, world, kind) -> None:
    """ELA-02, HEA-02: overload and request faults keep their name; only the backend's faults are told to health."""

    async def broken(_engine, _request) -> EngineResult:
        raise SearchError(kind, "because")

    world.behaviour = broken
    reply = await caller.ask("q1")
    assert reply.outcome is LaneOutcome.FAILED
    assert reply.failure is not None
    assert (reply.failure.kind, reply.failure.message) == (kind, "because")
    await caller.ask("q2", corpus="unknown")
    told = [BackendOutcome.from_json(data) for data in await caller.outcomes()]
    assert [row.failure for row in told] == ([kind] if kind.counts_against_backend else [])


async def test_what_an_engine_raises_is_unavailable(keyword_worker, caller, world) -> None:
    async def broken(_engine, _request) -> EngineResult:
        raise ZeroDivisionError("secret text")

    world.behaviour = broken
    reply = await caller.ask("q1")
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.UNAVAILABLE
    assert "secret" not in reply.failure.message
    await caller.drained()


async def test_a_slow_engine_times_out_while_the_fuser_still_waits(keyword_worker, caller, world) -> None:
    async def endless(_engine, _request) -> EngineResult:
        await asyncio.sleep(600)
        raise AssertionError

    world.behaviour = endless
    replies = [await caller.ask(f"q{number}", budget_ms=600) for number in range(3)]
    assert min(reply.elapsed_ms for reply in replies) < 600
    assert [reply.failure.kind for reply in replies if reply.failure] == [FailureKind.TIMEOUT] * 3
    rows = [BackendOutcome.from_json(data) for data in await caller.outcomes()]
    assert [(row.ok, row.failure, row.weight) for row in rows] == [(False, FailureKind.TIMEOUT, 1)] * 3


async def test_expired_commands_are_answered_without_asking_the_engine(run_workers, caller, world) -> None:
    """JOI-06: 100 commands that waited 3 s under a budget of 2 s."""
    async with run_workers():
        await caller.put(caller.card())
    submitted_ns = time.time_ns() - 3_000_000_000
    for number in range(100):
        await caller.send(caller.command(f"old{number}", submitted_ns=submitted_ns, budget_ms=2_000))
    async with run_workers():
        world.forget()
        replies = [await caller.reply(f"old{number}") for number in range(100)]
        fresh = await caller.ask("fresh", budget_ms=2_000)
    assert {reply.failure.kind for reply in replies if reply.failure} == {FailureKind.EXPIRED}
    assert fresh.outcome is LaneOutcome.ANSWERED
    assert len(world.searches) == 1
    await caller.drained()
    assert await caller.outcomes() == []


async def test_a_cancelled_query_is_skipped(keyword_worker, caller, world) -> None:
    world.forget()
    await caller.nc.publish(subjects.query_cancelled("acme", "q1"), b"")
    await caller.nc.publish(subjects.query_cancelled("other", "q2"), b"")
    await caller.nc.flush()
    await asyncio.sleep(0.1)
    reply = await caller.ask("q1")
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.EXPIRED
    assert not world.searches
    # Another tenant's query of the same id is another query.
    assert (await caller.ask("q2")).outcome is LaneOutcome.ANSWERED


async def test_a_probe_is_answered_and_left_for_health_to_judge(keyword_worker, caller, world) -> None:
    async def broken(_engine, _request) -> EngineResult:
        raise SearchError(FailureKind.UNAVAILABLE, "down")

    world.behaviour = broken
    assert (await caller.ask("probe-1-1", lane="probe")).outcome is LaneOutcome.FAILED
    assert await caller.outcomes() == []
    await caller.ask("probe-of-a-user")
    assert len(await caller.outcomes()) == 1


async def test_successes_are_told_in_lots_and_before_a_failure(keyword_worker, caller, world) -> None:
    for number in range(12):
        await caller.ask(f"q{number}")
    rows = [BackendOutcome.from_json(data) for data in await caller.outcomes()]
    assert [(row.ok, row.weight) for row in rows] == [(True, limits.SUCCESS_SAMPLE_EVERY)]

    async def broken(_engine, _request) -> EngineResult:
        raise SearchError(FailureKind.UNAVAILABLE, "down")

    world.behaviour = broken
    await caller.ask("q99")
    rows = [BackendOutcome.from_json(data) for data in await caller.outcomes()]
    assert sorted((row.ok, row.weight) for row in rows) == [(False, 1), (True, 2), (True, 10)]
    assert {(row.kind, row.backend, row.source) for row in rows} == {
        (Kind.KEYWORD, "main", keyword_worker.context.instance)
    }


async def test_a_payload_of_another_tenant_than_its_subject_is_refused(keyword_worker, caller, world) -> None:
    world.forget()
    command = caller.command("q1", tenant="globex")
    await caller.nc.jetstream().publish(subjects.retrieve(Kind.KEYWORD, "main", "acme", "docs"), command.to_json())
    reply = await caller.reply("q1")
    assert (reply.tenant, reply.outcome) == ("acme", LaneOutcome.FAILED)
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.BAD_REQUEST
    assert not world.searches


async def test_an_undecodable_command_is_kept_and_its_lane_told(keyword_worker, caller) -> None:
    """NAT-06, worker side: at once among the dead letters; the lane fails where the payload still names it."""
    subject = subjects.retrieve(Kind.KEYWORD, "main", "acme", "docs")
    for body in (b"\xff\xfe", b"[]", b'{"query_id":"q1","lane":"docs-keyword","backend":"main","window":"many"}'):
        await caller.nc.jetstream().publish(subject, body)
    reply = await caller.reply("q1")
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.BAD_REQUEST
    assert (await caller.ask("q2")).outcome is LaneOutcome.ANSWERED
    letters = await caller.nc.jetstream().stream_info(streams.DEADLETTER.name)
    assert letters.state.messages == 3
    await caller.drained()


async def test_a_subject_with_a_bad_token_is_dead_lettered_at_once(keyword_worker, caller, world) -> None:
    """TEN-04: an id that is no token reaches no engine and does not circle in the queue."""
    world.forget()
    subject = subjects.retrieve(Kind.KEYWORD, "main", "acme", "docs").replace("acme", "ACME")
    await caller.nc.jetstream().publish(subject, caller.command("q1").to_json())
    await caller.drained()
    letters = await caller.nc.jetstream().stream_info(streams.DEADLETTER.name)
    assert letters.state.messages == 1
    assert not world.searches


async def test_hits_that_are_none_get_no_rank(keyword_worker, caller, world) -> None:
    """FUS-01, FUS-02, FUS-07 at the worker: no id, no finite score, a repeated chunk, ties by id."""

    async def messy(_engine, _request: SearchRequest) -> EngineResult:
        rows = [("b", 1.0), ("", 9.0), ("a", 1.0), ("n", float("nan")), ("i", float("inf")), ("b", 0.5), ("0", 1.0)]
        return EngineResult(tuple(EngineHit(chunk_id, score, "h") for chunk_id, score in rows), dropped=1)

    world.behaviour = messy
    reply = await caller.ask("q1")
    assert [(hit.chunk_id, hit.rank) for hit in reply.hits] == [("0", 1), ("a", 2), ("b", 3)]
    assert reply.dropped_hits == 4
