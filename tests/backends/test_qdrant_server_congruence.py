"""The embedded vector engine and the Qdrant adapter answer alike: the same hits in the same order, scores within 1e-5.

The adapter runs in process (the client's own copy of the engine) and over HTTP on Qdrant's Rust engine.
"""

import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import ir_measures
import pytest
from hypothesis import HealthCheck, given, settings
from ir_measures import nDCG
from qdrant_client import AsyncQdrantClient

from fanfuse_backend_workers.adapters.qdrant import connect
from fanfuse_backend_workers.adapters.qdrant_server import QdrantServer
from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder
from fanfuse_backend_workers.ports import EngineHit, SearchEngine, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.filters import Filter
from fanfuse_testing.collections import Collection, load_collection
from fanfuse_testing.engine_suite import chunk
from fanfuse_testing.server_case import card_of, write
from fanfuse_testing.typed_filters import FIELDS, TYPED_FILTERS, typed_metadata
from tests.servers.qdrant import QdrantShim
from tests.servers.qdrant_edge import EdgeStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore:Payload indexes have no effect in the local Qdrant", "ignore:Local mode performs exact"
    ),
]
KEY = IndexKey("acme", "docs", "g1")
DIMENSIONS = 16


@pytest.fixture(params=[pytest.param("in process", marks=pytest.mark.nightly), "over HTTP"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def backend(place: str) -> AsyncIterator[ServerBackend]:
    if place == "in process":
        backend: ServerBackend = QdrantServer(AsyncQdrantClient(":memory:"), "test", connections=4)
        yield backend
        await backend.close()
        return
    shim = QdrantShim(EdgeStore).start()
    backend = connect(ServerSettings(url=shim.url))
    yield backend
    await backend.close()
    shim.stop()


def vectors(seed: int, count: int) -> list[tuple[float, ...]]:
    drawn = random.Random(seed)
    return [tuple(drawn.gauss(0, 1) for _ in range(DIMENSIONS)) for _ in range(count)]


def filters(count: int) -> list[Filter]:
    drawn: list[Filter] = []

    @settings(max_examples=count, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(TYPED_FILTERS)
    def draw(condition: Filter) -> None:
        drawn.append(condition)

    draw()
    return drawn


async def both(
    folder: Path, backend: ServerBackend, chunks: Sequence[Chunk], dimensions: int
) -> tuple[SearchEngine, SearchEngine]:
    builder = QdrantIndexBuilder()
    builder.build(folder, KEY.tenant, KEY.corpus, iter(chunks))
    spec = EmbedderSpec(model="m", dimensions=dimensions)
    await write(backend, KEY, chunks, IndexShape(FIELDS, spec))
    card = card_of(backend, KEY).model_copy(update={"embedder": spec})
    return await builder.open(folder), await backend.open(card)


def alike(one: Sequence[EngineHit], other: Sequence[EngineHit]) -> None:
    assert [replace(hit, score=0.0) for hit in one] == [replace(hit, score=0.0) for hit in other]
    assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=1e-5)


async def test_the_same_chunks_filters_and_queries_give_the_same_hits(tmp_path: Path, backend: ServerBackend) -> None:
    """200 filters over 300 chunks, a window smaller and one larger than what matches."""
    chunks = [
        chunk(f"c{number:03}", metadata=metadata).model_copy(update={"vector": vector})
        for number, (metadata, vector) in enumerate(zip(typed_metadata(300), vectors(1, 300), strict=True))
    ]
    embedded, server = await both(tmp_path, backend, chunks, DIMENSIONS)
    some = 0
    for condition, vector in zip(filters(200), vectors(2, 200), strict=True):
        for window in (5, 500):
            asked = SearchRequest(KEY.tenant, KEY.corpus, "", window, 10.0, vector=vector, filter=condition)
            found = (await embedded.search(asked)).hits
            alike(found, (await server.search(asked)).hits)
            some += bool(found)
    assert some > 200
    await embedded.close()


def chunks_of(collection: Collection) -> list[Chunk]:
    return [
        Chunk(
            chunk_id=document.document_id,
            text=f"{document.title} {document.text}".strip() or "-",
            content_hash="0",
            vector=tuple(collection.document_vectors[document.document_id].tolist()),
        )
        for document in collection.documents
    ]


async def test_ranking_quality_is_that_of_the_embedded_engine(
    tmp_path: Path, place: str, backend: ServerBackend, shared: Path
) -> None:
    """Every query with its precomputed vector. In process scifact gives the same .6467, but takes two minutes."""
    name, least = ("adi", 0.49) if place == "in process" else ("scifact", 0.64)
    collection = load_collection(name, shared)
    embedded, server = await both(tmp_path, backend, chunks_of(collection), 384)
    qualities = [await ndcg(engine, collection) for engine in (embedded, server)]
    print(f"{name} nDCG@10: embedded {qualities[0]:.4f}, Qdrant adapter {qualities[1]:.4f}")  # noqa: T201
    assert qualities[0] >= least
    assert qualities[1] == pytest.approx(qualities[0], abs=0.001)
    await embedded.close()


async def ndcg(engine: SearchEngine, collection: Collection) -> float:
    found = []
    for query, vector in collection.query_vectors.items():
        asked = SearchRequest(KEY.tenant, KEY.corpus, "", 100, 30.0, vector=tuple(vector.tolist()))
        hits = (await engine.search(asked)).hits
        found += [ir_measures.ScoredDoc(query, hit.chunk_id, -rank) for rank, hit in enumerate(hits)]
    judged = [ir_measures.Qrel(q, d, grade) for q, grades in collection.qrels.items() for d, grade in grades.items()]
    return float(next(iter(ir_measures.calc_aggregate([nDCG @ 10], judged, found).values())))
