"""Sharing, stopping, redelivery, size and overload of a pool."""

import asyncio
import time

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.ports import EngineHit, EngineResult
from fanfuse_contracts import limits, metrics, streams, subjects
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_testing.samples import counted


async def test_replicas_share_a_pool_and_each_command_is_handled_once(run_workers, caller, world) -> None:
    """NAT-08: one durable per pool, named after it; two processes on it."""
    async with run_workers() as first, run_workers() as second:
        await caller.put(caller.card())
        await caller.until(lambda: len(world.opened) == 2, "both replicas hold the corpus")
        await asyncio.gather(*(caller.send(caller.command(f"q{number}")) for number in range(200)))
        replies = [await caller.reply(f"q{number}") for number in range(200)]
        assert len(world.searches) == 200
        assert {reply.worker for reply in replies} == {first.context.instance, second.context.instance}
        assert all(len(heard) == 1 for heard in caller.replies.values())
        consumers = await caller.nc.jetstream().consumers_info(streams.RETRIEVE.name)
        assert [info.name for info in consumers] == ["worker-keyword-main"]


async def test_kinds_and_pools_have_queues_of_their_own(run_workers, caller, world) -> None:
    europe = Pool(Kind.KEYWORD, "eu")
    async with run_workers(pools=(europe, Pool(Kind.GRAPH, "main"))):
        wirings = caller.card().backends
        moved = tuple(w.model_copy(update={"pool": "eu"}) if w.kind is Kind.KEYWORD else w for w in wirings)
        await caller.put(caller.card(backends=moved))
        await caller.send(caller.command("q1"), pool="eu")
        assert (await caller.reply("q1")).outcome is LaneOutcome.ANSWERED
        graph = await caller.ask("q2", kind=Kind.GRAPH, seeds=("Acme",))
        assert (graph.kind, graph.outcome) == (Kind.GRAPH, LaneOutcome.ANSWERED)
        await caller.send(caller.command("q3"))
        await asyncio.sleep(0.3)
        assert await caller.waiting() == 1, "nobody here serves keyword/main"


async def test_a_stop_finishes_replies_and_acknowledges_what_is_in_flight(run_workers, caller, world) -> None:
    """NAT-09: ten searches that go on for a while, ten more in the queue."""
    release = asyncio.Event()

    async def going_on(_engine, _request) -> EngineResult:
        await release.wait()
        return EngineResult((EngineHit("a", 1.0, "h"),))

    async with run_workers(in_flight=10, in_flight_per_corpus=10, drain_timeout_s=120.0):
        await caller.put(caller.card())
        await caller.until(lambda: world.opened, "open")
        world.forget()
        world.behaviour = going_on
        for number in range(20):
            await caller.send(caller.command(f"q{number}", budget_ms=30_000))
        await caller.until(lambda: world.running == 10, "ten in flight")
        began = time.monotonic()
        asyncio.get_running_loop().call_later(0.5, release.set)
    assert time.monotonic() - began < 30, "it ends with its work, not at the end of its time"
    assert len(world.searches) == 10
    await caller.until(lambda: len(caller.replies) == 10, "ten replies")
    assert await caller.waiting() == 10, "the other ten wait for another worker, at once"
    async with run_workers(in_flight=10, in_flight_per_corpus=10) as second:
        await caller.until(lambda: len(caller.replies) == 20, "the other ten are answered")
    # A loop that a busy machine holds for longer than the acknowledgement wait is given some of them twice.
    redelivered = counted(second.metrics.registry, metrics.REDELIVERED_TOTAL.name)
    searched = len(world.searches) - (len(world.opened) - 1)
    assert 20 <= searched <= 20 + redelivered, "nothing was searched twice (but for warming up)"
    assert all(len(heard) == 1 for heard in caller.replies.values())


async def test_a_redelivered_command_leaves_one_stored_reply(keyword_worker, caller, world) -> None:
    command = caller.command("q1")
    subject = subjects.retrieve(Kind.KEYWORD, "main", "acme", "docs")
    for _ in range(3):
        await caller.nc.jetstream().publish(subject, command.to_json())
    await caller.until(lambda: len(world.searches) >= 3, "all three are handled")
    await caller.reply("q1")
    await asyncio.sleep(0.2)
    stored = await caller.nc.jetstream().stream_info(streams.RETRIEVED.name)
    assert stored.state.messages == 1
    assert len(caller.replies["q1"]) == 1
    await caller.drained()
    text = keyword_worker.metrics.exposition().decode()
    assert f'{metrics.DUPLICATES_TOTAL.name}{{stage="backend-workers"}} 2.0' in text
    # Sent again on purpose: another attempt, another reply.
    await caller.send(caller.command("q1", attempt=1))
    await caller.until(lambda: len(caller.replies["q1"]) == 2, "the second attempt's reply")


async def test_a_reply_is_trimmed_to_the_limit(keyword_worker, caller, world) -> None:
    """NAT-05: 500 hits with long titles and ids; the connection stays up, the best hits are kept."""

    async def huge(_engine, _request) -> EngineResult:
        return EngineResult(tuple(EngineHit(f"{i:03}" + "é" * 400, 1.0, "h" * 16, "標" * 300) for i in range(500)))

    world.behaviour = huge
    reply = await caller.ask("q1", window=500)
    assert reply.outcome is LaneOutcome.CUT
    assert [hit.rank for hit in reply.hits] == list(range(1, len(reply.hits) + 1))
    (stored,) = [await caller.nc.jetstream().get_last_msg(streams.RETRIEVED.name, subjects.RETRIEVED)]
    assert limits.MAX_LANE_REPLY_BYTES - 2_000 < len(stored.data or b"") <= limits.MAX_LANE_REPLY_BYTES
    assert LaneReply.from_json(stored.data or b"") == reply
    assert keyword_worker.context.bus.nc.is_connected


async def test_a_slow_corpus_fails_overloaded_and_leaves_the_pool_to_others(run_workers, caller, world) -> None:
    """The bulkhead: two searches of a corpus at a time; what is over fails after a moment, typed."""

    release = asyncio.Event()

    async def slow_docs(_engine, request) -> EngineResult:
        if request.corpus == "docs":
            await release.wait()
        return EngineResult((EngineHit("a", 1.0, "h"),))

    async with run_workers(in_flight_per_corpus=2):
        await caller.put(caller.card())
        await caller.put(caller.card("wiki"))
        await caller.until(lambda: len(world.opened) == 2, "both open")
        world.behaviour = slow_docs
        for number in range(12):
            await caller.send(caller.command(f"q{number}", budget_ms=30_000))
        await caller.until(lambda: world.running == 2, "two at the engine")
        assert (await caller.ask("w1", corpus="wiki")).outcome is LaneOutcome.ANSWERED
        await caller.until(lambda: len(caller.replies) == 10 + 1, "what is over has failed while the two still search")
        assert world.running == 2
        release.set()
        replies = [await caller.reply(f"q{number}") for number in range(12)]
    failures = [reply.failure.kind for reply in replies if reply.failure]
    assert failures == [FailureKind.OVERLOADED] * 10
    assert world.most_running == 2 + 1
    assert await caller.outcomes() == [], "a worker's own refusal says nothing about the backend"


async def test_a_burst_on_a_fast_engine_passes(keyword_worker, caller, world) -> None:
    async def fast(_engine, _request) -> EngineResult:
        await asyncio.sleep(0.003)
        return EngineResult((EngineHit("a", 1.0, "h"),))

    world.behaviour = fast
    await asyncio.gather(*(caller.send(caller.command(f"q{number}", budget_ms=30_000)) for number in range(100)))
    replies = [await caller.reply(f"q{number}") for number in range(100)]
    assert {reply.outcome for reply in replies} == {LaneOutcome.ANSWERED}
    assert world.most_running <= limits.WORKER_IN_FLIGHT_PER_CORPUS


async def test_lane_seconds_are_observed_by_kind_and_outcome(keyword_worker, caller) -> None:
    await caller.ask("q1")
    await caller.ask("q2", corpus="unknown")
    await caller.drained()
    text = keyword_worker.metrics.exposition().decode()
    assert 'fanfuse_lane_failures_total{backend="main",failure="not_found",kind="keyword"} 1.0' in text
    for outcome in ("answered", "failed"):
        assert f'fanfuse_lane_seconds_count{{backend="main",kind="keyword",outcome="{outcome}"}} 1.0' in text
