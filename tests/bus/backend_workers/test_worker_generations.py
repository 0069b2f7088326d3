"""Following the registry: switching under load, missing directories, corpora that come and go, texts."""

import asyncio

import pytest

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.ports import EngineHit, EngineResult
from fanfuse_contracts import subjects
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.health import Heartbeat, ServedPool
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest


async def test_generations_switch_under_load_without_a_failed_lane(keyword_worker, caller, world) -> None:
    async def short(engine, _request) -> EngineResult:
        await asyncio.sleep(0.004)
        return EngineResult((EngineHit(engine.generation, 1.0, "h"),))

    world.behaviour = short
    sent = 0
    for number in range(2, 8):
        await asyncio.gather(*(caller.send(caller.command(f"q{i}")) for i in range(sent, sent + 30)))
        sent += 30
        await caller.put(caller.card(generation=f"g{number}"))
    replies = [await caller.reply(f"q{number}") for number in range(sent)]
    # The fake engines assert that none is closed while it searches, nor searched when closed.
    assert {reply.outcome for reply in replies} == {LaneOutcome.ANSWERED}
    assert all(reply.hits[0].chunk_id == reply.generation for reply in replies)
    await caller.until(lambda: [engine.closed for engine in world.opened].count(False) == 1, "old ones are closed")
    assert (await caller.ask("last")).generation == "g7"


async def test_the_applied_revision_waits_for_the_last_search_of_the_old_generation(
    keyword_worker, caller, world
) -> None:
    """What `index` and `delete` wait for: from then on nothing old is returned."""
    heard: list[Heartbeat] = []

    async def on_beat(msg) -> None:
        heard.append(Heartbeat.from_json(msg.data))

    await caller.nc.subscribe(subjects.HEARTBEAT, cb=on_beat)
    release = asyncio.Event()

    async def held(_engine, _request) -> EngineResult:
        await release.wait()
        return EngineResult(())

    world.behaviour = held
    await caller.send(caller.command("q1", budget_ms=20_000))
    await caller.until(lambda: world.running == 1, "a search of the old generation runs")
    revision = await caller.put(caller.card(generation="g2"))
    await caller.until(lambda: len(world.opened) == 2, "the new one is open")
    await asyncio.sleep(0.3)
    assert keyword_worker.context.corpora.revision == revision
    assert keyword_worker.services[0].applied_revision() < revision
    assert not world.opened[0].closed
    release.set()
    await caller.until(lambda: heard and heard[-1].registry_revision == revision, "told in a heartbeat")
    assert world.opened[0].closed
    assert (await caller.reply("q1")).generation == "g1"


async def test_a_missing_directory_fails_its_corpus_and_nothing_else(keyword_worker, caller, world) -> None:
    world.missing.add("g-lost")
    await caller.served(keyword_worker, caller.card("lost", generation="g-lost"))
    reply = await caller.ask("q1", corpus="lost")
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.NOT_FOUND
    assert "index the corpus" in reply.failure.message
    assert (await caller.ask("q2")).outcome is LaneOutcome.ANSWERED
    assert await caller.outcomes() == []


async def test_a_generation_that_cannot_be_opened_is_not_replaced_by_the_old_one(keyword_worker, caller, world) -> None:
    world.missing.add("g2")
    await caller.served(keyword_worker, caller.card(generation="g2"))
    reply = await caller.ask("q1")
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.NOT_FOUND
    await caller.put(caller.card(generation="g3"))
    await caller.until(lambda: world.opened[-1].generation == "g3", "the next one is open")
    assert (await caller.ask("q2")).generation == "g3"


async def test_a_command_may_overtake_its_card(keyword_worker, caller, world) -> None:
    await caller.send(caller.command("q1", corpus="new"))
    await asyncio.sleep(0.05)
    await caller.put(caller.card("new"))
    assert (await caller.reply("q1")).outcome is LaneOutcome.ANSWERED
    unknown = await caller.ask("q2", corpus="never")
    assert unknown.failure is not None
    assert unknown.failure.kind is FailureKind.NOT_FOUND
    assert 150 < unknown.elapsed_ms < 1_000


async def test_a_removed_corpus_is_closed(keyword_worker, caller, world) -> None:
    await caller.remove("docs")
    await caller.until(lambda: world.opened[0].closed, "closed")
    reply = await caller.ask("q1")
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.NOT_FOUND


async def test_backends_of_the_pools_are_told_and_warm_before_ready(run_workers, caller, world) -> None:
    pools = (Pool(Kind.VECTOR, "main"), Pool(Kind.KEYWORD, "eu"))
    async with run_workers():
        await caller.put(caller.card())
    world.forget()
    async with run_workers(pools=pools) as process:
        served = process.services[0].served_pools()
        assert served == (
            ServedPool(kind=Kind.VECTOR, pool="main", backends=("main",)),
            ServedPool(kind=Kind.KEYWORD, pool="eu", backends=()),
        )
        assert [request.vector for request in world.searches] == [(1.0, 0.0, 0.0)]
        assert list(world.embedded.values()) == [1]


async def _texts(caller, corpus: str, *chunk_ids: str) -> ChunksReply:
    request = ChunksRequest(chunk_ids=chunk_ids)
    msg = await caller.nc.request(subjects.chunks_get("acme", corpus), request.to_json(), timeout=5)
    return ChunksReply.from_json(msg.data)


async def test_texts_come_from_the_live_generation(keyword_worker, caller, world) -> None:
    world.texts.update({"a": "text of a", "b": "text of b"})
    reply = await _texts(caller, "docs", "b", "gone", "a", "b")
    assert [(chunk.chunk_id, chunk.text, chunk.source) for chunk in reply.chunks] == [
        ("b", "text of b", "a.md"),
        ("a", "text of a", "a.md"),
    ]
    assert reply.gone == ("gone",)
    unknown = await _texts(caller, "unknown", "a")
    assert unknown.failure is not None
    assert unknown.failure.kind is FailureKind.NOT_FOUND
    assert unknown.gone == ()


@pytest.mark.parametrize("size", [300_000, 1_100_000])
async def test_texts_over_the_brokers_limit_are_left_out_and_not_called_gone(
    keyword_worker, caller, world, size
) -> None:
    world.texts.update({f"big{i}": "x" * size for i in range(6)} | {"small": "s"})
    reply = await _texts(caller, "docs", *world.texts)
    assert reply.gone == ()
    assert [chunk.chunk_id for chunk in reply.chunks] == [f"big{i}" for i in range(1_048_576 // size)] + ["small"]
