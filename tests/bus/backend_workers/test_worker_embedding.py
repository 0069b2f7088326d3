"""Query vectors in the worker: made once, typed when they can't be made."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.warming import TEXT
from fanfuse_contracts import subjects
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome

VECTOR = {"kind": Kind.VECTOR}


@pytest.fixture
async def vector_worker(run_workers, caller, world) -> AsyncIterator[None]:
    async with run_workers(pools=(Pool(Kind.VECTOR, "main"),)):
        await caller.put(caller.card())
        await caller.until(lambda: world.opened, "open")
        yield


async def test_a_text_is_embedded_once_for_all_corpora_and_queries(vector_worker, caller, world) -> None:
    await caller.put(caller.card("wiki"))
    await caller.until(lambda: len(world.opened) == 2, "open")
    world.embedder_sleeps_s = 0.1
    await asyncio.gather(*(caller.send(caller.command("q1", corpus=corpus, **VECTOR)) for corpus in ("docs", "wiki")))
    await caller.until(lambda: len(caller.replies.get("q1", ())) == 2, "both lanes")
    assert (await caller.ask("q2", **VECTOR)).outcome is LaneOutcome.ANSWERED
    assert world.embedded["hello"] == 1
    assert [request.vector for request in world.searches] == [(1.0, 0.0, 0.0)] * 3


async def test_the_callers_vector_is_used_as_it_is(vector_worker, caller, world) -> None:
    assert (await caller.ask("q1", vector=(0.0, 1.0, 0.0), **VECTOR)).outcome is LaneOutcome.ANSWERED
    assert world.searches[-1].vector == (0.0, 1.0, 0.0)
    assert set(world.embedded) <= {TEXT}
    wrong = await caller.ask("q2", vector=(1.0,), **VECTOR)
    assert wrong.failure is not None
    assert wrong.failure.kind is FailureKind.CONFIG


async def test_a_failing_embedder_is_not_the_backends_fault(vector_worker, caller, world) -> None:
    """HEA-05: an embedder that raises or hangs is typed `embedder`; the backend stays healthy; it recovers."""
    world.embedder_error = RuntimeError("out of memory")
    raised = await caller.ask("q1", **VECTOR)
    world.embedder_error = None
    world.embedder_sleeps_s = 1.0
    began = time.monotonic()
    hung = await caller.ask("q2", text="slow", budget_ms=400, **VECTOR)
    assert time.monotonic() - began < 1.0, "it is not waited for"
    assert [reply.failure.kind for reply in (raised, hung) if reply.failure] == [FailureKind.EMBEDDER] * 2
    assert await caller.outcomes() == []
    world.embedder_sleeps_s = 0.0
    assert (await caller.ask("q3", text="fine", **VECTOR)).outcome is LaneOutcome.ANSWERED


async def test_an_embedder_that_is_not_the_cards_is_a_fault_of_configuration(vector_worker, caller) -> None:
    await caller.put(caller.card("small", embedder=EmbedderSpec(model="tiny", dimensions=2)))
    await caller.put(caller.card("other", embedder=EmbedderSpec(model="huge", dimensions=3)))
    await caller.put(caller.card("none", embedder=None))
    await caller.put(caller.card("given", embedder=EmbedderSpec(model="tiny", dimensions=3, local=False)))
    kinds = {}
    for corpus in ("small", "other", "none", "given"):
        reply = await caller.ask(f"q-{corpus}", corpus=corpus, **VECTOR)
        kinds[corpus] = reply.failure.kind if reply.failure else None
    assert kinds == {
        "small": FailureKind.CONFIG,
        "other": FailureKind.CONFIG,
        "none": FailureKind.CONFIG,
        "given": FailureKind.BAD_REQUEST,
    }


async def test_a_query_cancelled_while_it_is_embedded_never_reaches_the_engine(vector_worker, caller, world) -> None:
    """The fuser calls off what it did not wait for: the command is answered, acknowledged and nobody's fault."""
    world.forget()
    world.embedder_sleeps_s = 1.0
    await caller.send(caller.command("unwanted", **VECTOR))
    await caller.until(lambda: world.embedded["hello"], "its text is being embedded")
    await caller.nc.publish(subjects.query_cancelled("acme", "unwanted"), b"")
    reply = await caller.reply("unwanted")
    assert reply.failure is not None
    assert (reply.failure.kind, world.searches) == (FailureKind.EXPIRED, [])
    assert await caller.outcomes() == []
