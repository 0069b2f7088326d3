"""Indexing and deleting against a real bus: what a failed, interrupted or overtaken run leaves behind."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from fanfuse_all_in_one import switching
from fanfuse_all_in_one.deleting import delete_chunks
from fanfuse_all_in_one.failures import ConflictError, NotAppliedError, OperatorError, UnknownChunkError
from fanfuse_all_in_one.indexing import DEFAULT_EMBEDDER, Wish, index_corpus
from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.stored_answers import remove_answers
from fanfuse_contracts import flow, subjects
from fanfuse_contracts.answer import Answer, AnswerHit, Coverage
from fanfuse_contracts.chunks import Chunk, Triple, content_hash
from fanfuse_contracts.corpus import FieldType
from fanfuse_contracts.enums import RejectionCode, Stage, Status
from fanfuse_contracts.health import Heartbeat

WISH = Wish("acme", "docs", public=True)
VECTOR = (1.0, *(0.0,) * (DEFAULT_EMBEDDER.dimensions - 1))


def chunk(name: str, text: str = "some text", document: str = "") -> Chunk:
    return Chunk(
        chunk_id=name, text=text, document_id=document or name, content_hash=content_hash("", text), vector=VECTOR
    )


def chunks(*names: str) -> list[Chunk]:
    return [chunk(name) for name in names]


@pytest.fixture
async def operator(nats_server) -> AsyncIterator[Operator]:
    async with operator_on(nats_server.url, alone=True) as connected:
        yield connected


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


async def index(operator, data, found, wish=WISH, **fields):
    return await index_corpus(operator, data, wish, found, lambda: fields)


def generations(data) -> set[str]:
    return {path.name for path in data.glob("acme/docs/*/*") if path.is_dir()}


async def test_the_card_counts_the_relations_that_are_indexed(operator, data):
    knows = Triple(subject="Alice", relation="KNOWS", object="Bob")
    stated = chunk("a").model_copy(update={"triples": (knows, knows.model_copy(update={"object": "Carol"}))})
    with_relations = await index(operator, data, [stated, chunk("b")])
    assert with_relations.card.relations == 2
    kept = await delete_chunks(operator, data, "acme", "docs", ["a"])
    assert kept.left == 1
    registered = (await operator.card("acme", "docs")).card
    assert registered is not None
    assert registered.relations == 0


async def test_the_card_says_what_was_built_and_keeps_what_was_not_stated(operator, data):
    first = await index(operator, data, chunks("a", "b"), year=FieldType.INTEGER)
    again = await index(operator, data, chunks("a"), Wish("acme", "docs", description="Rules"))

    assert (first.card.chunks, first.card.fields, first.card.public) == (2, {"year": FieldType.INTEGER}, True)
    assert (again.card.chunks, again.card.fields, again.card.public) == (1, {}, True)
    assert again.card.description == "Rules"
    assert again.removed == (first.card.generation,)
    assert generations(data) == {again.card.generation}
    assert (await operator.card("acme", "docs")).card == again.card


async def test_a_run_that_fails_changes_nothing(operator, data):
    live = (await index(operator, data, chunks("a"))).card

    def broken():
        yield chunk("b")
        raise OSError("the disk is gone")

    with pytest.raises(OperatorError, match="disk is gone"):
        await index(operator, data, broken())
    with pytest.raises(OperatorError, match="two chunks have the id 'b'"):
        await index(operator, data, chunks("b", "b"))
    with pytest.raises(OperatorError, match="3 numbers"):
        await index(operator, data, [chunk("b").model_copy(update={"vector": (1.0, 0.0, 0.0)})])

    assert (await operator.card("acme", "docs")).card == live
    assert generations(data) == {live.generation}


async def test_a_run_that_is_interrupted_changes_nothing(operator, data):
    live = (await index(operator, data, chunks("a"))).card
    reached = threading.Event()

    def endless():
        for number in range(100_000):
            if number == 50:
                reached.set()
            yield chunk(f"c{number}")

    running = asyncio.create_task(index(operator, data, endless()))
    await asyncio.to_thread(reached.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (await operator.card("acme", "docs")).card == live
    assert generations(data) == {live.generation}


async def test_a_run_that_was_overtaken_writes_nothing(operator, data, nats_server):
    live = (await index(operator, data, chunks("a"))).card
    loop = asyncio.get_running_loop()

    async def change() -> None:
        now = await operator.card("acme", "docs")
        await operator.put_card(live.model_copy(update={"description": "changed"}), now.revision)

    def overtaken():
        yield chunk("b")
        asyncio.run_coroutine_threadsafe(change(), loop).result(5)

    with pytest.raises(ConflictError, match="another command changed corpus docs"):
        await index(operator, data, overtaken())

    found = (await operator.card("acme", "docs")).card
    assert found is not None
    assert (found.generation, found.description) == (live.generation, "changed")
    assert generations(data) == {live.generation}


async def test_an_instance_that_does_not_follow_is_named_and_keeps_its_index(data, nats_server, monkeypatch):
    monkeypatch.setattr(switching, "APPLY_TIMEOUT_S", 0.5)
    async with operator_on(nats_server.url, alone=True) as operator:
        live = (await index(operator, data, chunks("a"))).card
    async with operator_on(nats_server.url) as operator:
        beat = Heartbeat(
            service=Stage.BACKEND_WORKERS, instance="stuck-1", version="0.1.0", ready=True, registry_revision=1
        )

        async def keep_beating() -> None:
            while True:
                await operator.bus.send(flow.HEARTBEAT, subjects.heartbeat(beat.service, beat.instance), beat)
                await asyncio.sleep(0.2)

        beating = asyncio.create_task(keep_beating())
        with pytest.raises(NotAppliedError, match="backend-workers stuck-1 did not follow"):
            await index(operator, data, chunks("b"))
        beating.cancel()

    assert live.generation in generations(data)
    assert len(generations(data)) == 2


async def test_delete_takes_chunks_or_documents_and_names_what_it_does_not_know(operator, data):
    parts = [chunk("d#1", document="d"), chunk("d#2", document="d")]
    await index(operator, data, [*chunks("a", "b"), *parts])

    with pytest.raises(UnknownChunkError, match="'nope'"):
        await delete_chunks(operator, data, "acme", "docs", ["a", "nope"])
    done = await delete_chunks(operator, data, "acme", "docs", ["a", "d"])

    assert (done.chunks, done.left) == (3, 1)
    last = await delete_chunks(operator, data, "acme", "docs", ["b"])
    assert (last.chunks, last.left) == (1, 0)
    gone = await delete_chunks(operator, data, "acme", "docs", None)
    assert (gone.chunks, gone.left) == (0, None)
    assert (await operator.card("acme", "docs")).card is None
    assert generations(data) == set()
    assert (await index(operator, data, chunks("a"))).card.chunks == 1


async def test_every_stored_answer_that_shows_a_deleted_chunk_goes_and_no_other(operator):
    def answer(tenant: str, number: int, corpus: str, chunk_id: str) -> Answer:
        hit = AnswerHit(rank=1, corpus=corpus, chunk_id=chunk_id, score=0.1, contributions=())
        return Answer(
            tenant=tenant,
            query_id=f"q{number}",
            status=Status.COMPLETE,
            hits=(hit,),
            coverage=Coverage(expected=0),
        )

    stored = [answer("acme", number, "docs", f"c{number % 2}") for number in range(1_200)]
    stored += [answer("acme", 2_000, "other", "c0"), answer("globex", 1, "docs", "c0")]
    for start in range(0, len(stored), 200):
        await asyncio.gather(
            *(
                operator.bus.js.publish(subjects.query_fused(each.tenant, each.query_id), each.to_json())
                for each in stored[start : start + 200]
            )
        )

    assert await remove_answers(operator.bus, "acme", "docs", {"c0"}) == 600
    assert await remove_answers(operator.bus, "acme", "docs", {"c0"}) == 0
    assert await remove_answers(operator.bus, "acme", "docs", None) == 600
    assert await remove_answers(operator.bus, "acme", "docs", None) == 0
    assert (await operator.bus.js.stream_info("ANSWERS")).state.messages == len(stored)
    left = await operator.bus.last("ANSWERS", subjects.query_fused("acme", "q0"))
    assert left is not None
    refused = Answer.from_json(left.data)
    assert (refused.status, refused.hits) == (Status.FAILED, ())
    assert refused.rejection is not None
    assert refused.rejection.code is RejectionCode.GONE


async def test_an_interrupted_delete_is_completed_and_an_unreadable_answer_stops_nothing(operator, data):
    await index(operator, data, chunks("a"))
    for query_id, chunk_id in (("q1", "gone#3"), ("q2", "a")):
        hit = AnswerHit(rank=1, corpus="docs", chunk_id=chunk_id, score=0.1, text="secret", contributions=())
        shown = Answer(
            tenant="acme", query_id=query_id, status=Status.COMPLETE, hits=(hit,), coverage=Coverage(expected=0)
        )
        await operator.bus.js.publish(subjects.query_fused("acme", query_id), shown.to_json())
    await operator.bus.js.publish(subjects.query_fused("acme", "poison"), b"\xff")

    done = await delete_chunks(operator, data, "acme", "docs", ["gone"])

    assert (done.chunks, done.left, done.answers) == (0, 1, 2)
    kept = await operator.bus.last("ANSWERS", subjects.query_fused("acme", "q2"))
    taken = await operator.bus.last("ANSWERS", subjects.query_fused("acme", "q1"))
    assert kept is not None
    assert b"secret" in kept.data
    assert taken is not None
    assert b"secret" not in taken.data
    with pytest.raises(UnknownChunkError, match="'gone'"):
        await delete_chunks(operator, data, "acme", "docs", ["gone"])
