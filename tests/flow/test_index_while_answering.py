"""Indexing and deleting while queries are asked: none fails, what is new is found, what is deleted is gone."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fanfuse_client import Client
from fanfuse_contracts import flow as channels
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import Kind, LaneOutcome, Status
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest
from fanfuse_testing.flow import Flow, sample_chunk
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
EVERY_S, AT_ONCE = 0.05, 4
NEW = "The zeppelin module steers an airship through a thunderstorm."
NEW_SEEDS = ("zeppelin",)


@asynccontextmanager
async def asking(client: Client) -> AsyncIterator[list[Answer]]:
    """Asks twenty times a second during the block, less often where answers are slow; all are in at its end."""
    answers: list[Answer] = []
    running: set[asyncio.Task[None]] = set()

    async def ask() -> None:
        answers.append(await client.ask(QUESTION, graph_seeds=SEEDS, budget_ms=20_000))

    async def ask_steadily() -> None:
        while True:
            if sum(not one.done() for one in running) < AT_ONCE:
                running.add(asyncio.create_task(ask()))
            await asyncio.sleep(EVERY_S)

    steady = asyncio.create_task(ask_steadily())
    try:
        yield answers
    finally:
        steady.cancel()
        await asyncio.gather(*running)


async def found(client: Client, **fields: Any) -> Answer | None:
    answer = await client.ask(NEW, graph_seeds=NEW_SEEDS, budget_ms=20_000, **fields)
    return answer if any(hit.chunk_id == "zeppelin" for hit in answer.hits) else None


async def texts(flow: Flow, chunk_id: str) -> ChunksReply:
    request = ChunksRequest(chunk_ids=(chunk_id,))
    data = await flow.operator.bus.request(channels.CHUNKS, subjects.chunks_get(TENANT, "docs"), request, 5.0)
    return ChunksReply.from_json(data)


def with_news() -> list[Chunk]:
    """The library, what is to be found, and enough more for indexing to take a while."""
    news = sample_chunk("zeppelin", NEW, entities=NEW_SEEDS, document_id="airships")
    return [
        *library(),
        news,
        *(sample_chunk(f"filler-{number}", f"filler text number {number}") for number in range(150)),
    ]


def assert_none_failed(answers: list[Answer]) -> None:
    assert {answer.status for answer in answers} == {Status.COMPLETE}, [
        (answer.status, answer.rejection, [r for r in answer.coverage.lanes if r.failure]) for answer in answers
    ]
    for answer in answers:
        assert len(answer.hits) >= 8
        assert answer.missing_texts == ()


async def test_a_new_generation_is_found_and_no_query_fails(flow: Flow, say: Callable[[str], None]) -> None:
    await flow.index(TENANT, "docs", library(), FIELDS)
    async with flow.client(TENANT) as client, asking(client) as answers:
        assert await found(client) is None
        await flow.index(TENANT, "docs", with_news(), FIELDS)
        ended = time.monotonic()
        first = await found(client)
        found_after_s = time.monotonic() - ended
        assert first is not None, "the first query after the end finds it"
        by_kind = {c.kind for hit in first.hits if hit.chunk_id == "zeppelin" for c in hit.contributions}
        assert by_kind == set(Kind)
        assert first.hits[0].text == NEW
    say(f"{len(answers)} queries during indexing, none failed; new text found {found_after_s:.2f} s after its end")
    assert len(answers) > 10
    assert_none_failed(answers)


async def test_a_deleted_chunk_is_returned_by_nothing(flow: Flow, say: Callable[[str], None]) -> None:
    await flow.index(TENANT, "docs", with_news(), FIELDS)
    async with flow.client(TENANT) as client:
        assert await found(client, query_id="shows-it") is not None
        assert (await client.stored("shows-it")) is not None
        async with asking(client) as answers:
            deleted = await flow.delete(TENANT, "docs", ["airships"])
            after = await client.ask(NEW, budget_ms=20_000, graph_seeds=NEW_SEEDS, top_k=100)
        assert_none_failed(answers)
        assert (deleted.chunks, deleted.left) == (1, 158)
        assert deleted.answers >= 1
        assert "zeppelin" not in {hit.chunk_id for hit in after.hits}
        for kind, seeds in {Kind.GRAPH: NEW_SEEDS, Kind.KEYWORD: ()}.items():
            answer = await client.ask("zeppelin airship", budget_ms=20_000, top_k=100, graph_seeds=seeds)
            reports = {report.kind: report.outcome for report in answer.coverage.lanes}
            assert reports[Kind.VECTOR] is LaneOutcome.ANSWERED
            assert reports[kind] is LaneOutcome.EMPTY
            assert "zeppelin" not in {hit.chunk_id for hit in answer.hits}
        left = await client.stored("shows-it")
        assert left is not None
        assert (left.status, left.hits) == (Status.FAILED, ())
        assert left.rejection is not None
        assert left.rejection.retryable
        assert "zeppelin" not in left.to_json().decode()
    reply = await texts(flow, "zeppelin")
    assert (reply.chunks, reply.gone) == ((), ("zeppelin",))
    kept = await flow.operator.bus.last_of_each(streams.ANSWERS.name, subjects.fused_of_tenant(TENANT))
    shown = [Answer.from_json(message.data) for message in kept]
    assert all(hit.chunk_id != "zeppelin" for answer in shown for hit in answer.hits)
    say(f"{len(answers)} queries during a deletion, none failed; {len(shown)} stored answers looked through")


async def test_a_deleted_corpus_is_gone(flow: Flow) -> None:
    await flow.index(TENANT, "docs", library(), FIELDS)
    await flow.index(TENANT, "gone", library("ephemeral"), FIELDS)
    async with flow.client(TENANT) as client:
        assert (await client.ask(QUESTION, budget_ms=20_000, corpora=("gone",))).status is Status.COMPLETE
        async with asking(client) as answers:
            await flow.delete(TENANT, "gone", None)
            answer = await client.ask(QUESTION, budget_ms=20_000, corpora=("gone",))
            assert answer.status is Status.REJECTED
        for answer in answers:
            assert answer.status in {Status.COMPLETE, Status.PARTIAL}
        late = await client.ask(QUESTION, budget_ms=20_000, top_k=50)
    assert "ephemeral" not in late.to_json().decode()
    assert not [folder for folder in (flow.data_dir / TENANT).glob("gone/*/*") if folder.is_dir()]
