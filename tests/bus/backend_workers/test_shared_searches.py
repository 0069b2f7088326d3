"""Several corpora in one lane: embedded once, searched each, merged by score; all of them or a typed failure."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchError
from fanfuse_contracts.corpus import ALL_CORPORA, EmbedderSpec
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.filters import Leaf, Op, digest
from fanfuse_contracts.health import BackendOutcome
from fanfuse_runtime.compose import Process

VECTOR, KEYWORD = Pool(Kind.VECTOR, "main"), Pool(Kind.KEYWORD, "main")
SHARED = {"kind": Kind.VECTOR, "corpus": ALL_CORPORA, "corpora": ("docs", "wiki"), "lane": "all-vector"}
SCORES = {"docs": (0.9, 0.3), "wiki": (0.5, 0.3)}


@pytest.fixture
async def workers(run_workers, caller, world) -> AsyncIterator[Process]:
    """Two corpora, whose chunks have the same ids."""

    async def scored(_engine, request) -> EngineResult:
        return EngineResult(tuple(EngineHit(f"c{i}", score, "h") for i, score in enumerate(SCORES[request.corpus])))

    world.behaviour = scored
    async with run_workers(pools=(VECTOR, KEYWORD), in_flight_per_corpus=1) as process:
        for corpus in SCORES:
            await caller.served(process, caller.card(corpus, generation=f"g-{corpus}"))
        world.forget()
        yield process


def failure(reply) -> tuple[FailureKind, str]:
    assert reply.outcome is LaneOutcome.FAILED
    assert reply.failure is not None
    return reply.failure.kind, reply.failure.message


async def test_hits_are_merged_by_score_and_the_text_is_embedded_once(workers, caller, world) -> None:
    condition = Leaf(field="year", op=Op.GTE, value=2020)
    reply = await caller.ask("q1", filter=condition, window=3, **SHARED)
    assert (reply.corpus, reply.outcome, reply.lane) == (ALL_CORPORA, LaneOutcome.ANSWERED, "all-vector")
    assert [(hit.corpus, hit.chunk_id, hit.rank, hit.score) for hit in reply.hits] == [
        ("docs", "c0", 1, 0.9), ("wiki", "c0", 2, 0.5), ("docs", "c1", 3, 0.3),
    ]  # fmt: skip
    assert reply.filter_digest == digest("acme", "docs,wiki", condition)
    assert world.embedded == {"hello": 1}
    assert sorted((one.tenant, one.corpus, one.window, one.filter) for one in world.searches) == [
        ("acme", "docs", 3, condition), ("acme", "wiki", 3, condition),
    ]  # fmt: skip
    assert {one.vector for one in world.searches} == {(1.0, 0.0, 0.0)}
    await caller.drained()


async def test_a_corpus_that_is_not_here_fails_the_lane_by_name(workers, caller, world) -> None:
    """Nothing is found of half a plan: the other corpora have no hits of it either, and the backend is not blamed."""
    kind, message = failure(await caller.ask("q1", **SHARED | {"corpora": ("docs", "gone", "wiki")}))
    assert (kind, "'gone'" in message) == (FailureKind.NOT_FOUND, True)
    assert not world.searches
    assert await caller.outcomes() == []


async def test_another_tenants_corpora_are_not_here(workers, caller, world) -> None:
    """The tenant is the subject's, for every corpus of the lane."""
    kind, _ = failure(await caller.ask("q1", tenant="globex", **SHARED))
    assert kind is FailureKind.NOT_FOUND
    assert not world.searches


async def test_one_failing_index_fails_the_lane_and_is_told_once(workers, caller, world) -> None:
    async def half(_engine, request) -> EngineResult:
        if request.corpus == "wiki":
            raise SearchError(FailureKind.UNAVAILABLE, "down")
        return EngineResult(())

    world.behaviour = half
    assert failure(await caller.ask("q1", **SHARED)) == (FailureKind.UNAVAILABLE, "corpus 'wiki': down")
    (row,) = [BackendOutcome.from_json(data) for data in await caller.outcomes()]
    assert (row.kind, row.ok, row.failure) == (Kind.VECTOR, False, FailureKind.UNAVAILABLE)


async def test_engines_are_kept_open_until_every_corpus_has_ended(workers, caller, world) -> None:
    """One corpus fails at once; a new generation of the other arrives while it is still being searched."""
    closed_at_end: list[bool] = []

    async def slow_wiki(engine, request) -> EngineResult:
        if request.corpus == "docs":
            raise SearchError(FailureKind.CONFIG, "at once")
        await asyncio.sleep(0.3)
        closed_at_end.append(engine.closed)
        return EngineResult(())

    world.behaviour = slow_wiki
    await caller.send(caller.command("q1", **SHARED))
    await caller.until(lambda: world.running, "wiki is being searched")
    await caller.served(workers, caller.card("wiki", generation="g-new"))
    assert failure(await caller.reply("q1")) == (FailureKind.CONFIG, "corpus 'docs': at once")
    assert closed_at_end == [False]


async def test_the_bulkhead_of_each_corpus_holds(workers, caller, world) -> None:
    """A corpus whose searches hang refuses the shared lane; a shared lane that waits holds no other corpus's turn."""
    hanging = asyncio.Event()

    async def hang_wiki(_engine, request) -> EngineResult:
        if request.corpus == "wiki":
            await hanging.wait()
        return EngineResult(())

    world.behaviour = hang_wiki
    await caller.send(caller.command("hangs", kind=Kind.VECTOR, corpus="wiki"))
    await caller.until(lambda: world.running, "wiki is being searched")
    await caller.send(caller.command("q1", **SHARED))
    await caller.until(lambda: any(one.corpus == "docs" for one in world.searches), "the lane's other corpus")
    assert (await caller.ask("q2", kind=Kind.VECTOR)).outcome is LaneOutcome.EMPTY
    kind, message = failure(await caller.reply("q1"))
    assert (kind, message[:14]) == (FailureKind.OVERLOADED, "corpus 'wiki':")
    hanging.set()
    await caller.drained()


async def test_lanes_that_cannot_be_shared_are_refused(workers, caller, world) -> None:
    kinds = {
        "keyword": failure(await caller.ask("q1", **SHARED | {"kind": Kind.KEYWORD})),
        "unsorted": failure(await caller.ask("q2", **SHARED | {"corpora": ("wiki", "docs")})),
        "of one subject": failure(await caller.ask("q3", **SHARED | {"corpus": "docs"})),
    }
    assert {name: kind for name, (kind, _) in kinds.items()} == {
        "keyword": FailureKind.CONFIG,
        "unsorted": FailureKind.BAD_REQUEST,
        "of one subject": FailureKind.BAD_REQUEST,
    }
    other = EmbedderSpec(model="huge", dimensions=3)
    await caller.served(workers, caller.card("wiki", generation="g-other", embedder=other))
    kind, message = failure(await caller.ask("q4", **SHARED))
    assert (kind, "different embedders" in message) == (FailureKind.CONFIG, True)
    assert not world.searches
    assert await caller.outcomes() == []
