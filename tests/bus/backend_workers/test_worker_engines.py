"""The real embedded engines behind the workers: each lane asked, texts fetched, a chunk deleted."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fanfuse_backend_workers.adapters.embedded import index_builder
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.generations import CorpusName, build_generation, generation_id, read_chunks
from fanfuse_backend_workers.service import build
from fanfuse_contracts import subjects
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.filters import Leaf, Op, digest
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.settings import RuntimeSettings

NAME = CorpusName("acme", "docs")
MINILM = EmbedderSpec(model="all-MiniLM-L6-v2", dimensions=384)
TEXTS = {
    "cats": ("Cats", "A cat sleeps most of the day and hunts mice at night.", "Felidae", 2019),
    "ships": ("Ships", "A container ship carries goods across the ocean.", "Maersk", 2021),
    "bread": ("Bread", "Bread is baked from flour, water, salt and yeast.", "Bakery", 2023),
    "boats": ("Boats", "A small boat with a sail crosses the lake.", "Maersk", 2024),
}


def chunks() -> list[Chunk]:
    return [
        Chunk(
            chunk_id=chunk_id, title=title, text=text, content_hash=f"{number:016}", source=f"{chunk_id}.md",
            entities=(entity,), metadata={"year": year},
        )
        for number, (chunk_id, (title, text, entity, year)) in enumerate(TEXTS.items())
    ]  # fmt: skip


def build_index(data: Path, found: list[Chunk]) -> str:
    generation = generation_id(datetime.now(UTC), "t")
    build_generation(data, NAME, generation, found, [index_builder(kind) for kind in Kind], build_embedder(MINILM))
    return generation


@pytest.fixture
async def workers(nats_server, caller, tmp_path: Path) -> AsyncIterator[Process]:
    generation = await asyncio.to_thread(build_index, tmp_path, chunks())
    settings = RuntimeSettings(nats_url=nats_server.url, data_dir=tmp_path)
    async with compose(build, settings=settings) as process:
        await caller.listen()
        await caller.served(process, caller.card(generation=generation, embedder=MINILM))
        yield process


LANES: dict[Kind, tuple[dict[str, Any], set[str]]] = {
    Kind.VECTOR: ({"text": "a vessel on the sea"}, {"ships", "boats"}),
    Kind.KEYWORD: ({"text": "container ship"}, {"ships"}),
    Kind.GRAPH: ({"text": "", "seeds": ("Maersk",)}, {"ships", "boats"}),
}


@pytest.mark.parametrize("kind", list(Kind))
async def test_each_lane_finds_what_it_should_and_obeys_the_filter(workers, caller, kind) -> None:
    asked, expected = LANES[kind]
    reply = await caller.ask("q1", kind=kind, **asked)
    assert reply.outcome in {LaneOutcome.ANSWERED, LaneOutcome.CUT}, reply.failure
    assert {hit.chunk_id for hit in reply.hits[: len(expected)]} == expected
    assert reply.hits[0].title == TEXTS[reply.hits[0].chunk_id][0]
    recent = Leaf(field="year", op=Op.GTE, value=2020)
    filtered = await caller.ask("q2", kind=kind, filter=recent, **asked)
    assert filtered.filter_digest == digest("acme", "docs", recent)
    assert {hit.chunk_id for hit in filtered.hits} == {hit.chunk_id for hit in reply.hits} - {"cats"}


async def test_a_deleted_chunk_is_returned_by_no_lane_and_has_no_text(workers, caller, tmp_path: Path) -> None:
    old = workers.context.corpora.get("acme", "docs").generation
    kept = [chunk for chunk in read_chunks(tmp_path, NAME, old) if chunk.chunk_id != "ships"]
    generation = await asyncio.to_thread(build_index, tmp_path, kept)
    await caller.served(workers, caller.card(generation=generation, embedder=MINILM))
    for kind, (asked, _) in LANES.items():
        reply = await caller.ask(f"q-{kind}", kind=kind, **asked)
        assert reply.generation == generation
        assert "ships" not in {hit.chunk_id for hit in reply.hits}
    request = ChunksRequest(chunk_ids=("ships", "boats"))
    msg = await caller.nc.request(subjects.chunks_get("acme", "docs"), request.to_json(), timeout=5)
    reply = ChunksReply.from_json(msg.data)
    assert reply.gone == ("ships",)
    assert [(chunk.text, chunk.source) for chunk in reply.chunks] == [(TEXTS["boats"][1], "boats.md")]


async def test_a_lost_directory_is_named_and_the_backend_is_not_blamed(workers, caller) -> None:
    await caller.served(workers, caller.card(generation="20200101t000000000000z-lost", embedder=MINILM))
    for kind, (asked, _) in LANES.items():
        reply = await caller.ask(f"q-{kind}", kind=kind, **asked)
        assert reply.failure is not None
        assert reply.failure.kind is FailureKind.NOT_FOUND
        assert "index" in reply.failure.message
    assert await caller.outcomes() == []
