"""BM25 on judged collections, by the embedded engine and by real OpenSearch: the published figures of Lucene.

nDCG@10 of BM25 as published for BEIR (Anserini, multi-field off): .6789 on scifact and .3218 on nfcorpus.
"""

from collections.abc import Callable
from pathlib import Path

import ir_measures
import pytest
from ir_measures import nDCG

from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder
from fanfuse_backend_workers.ports import SearchEngine, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_testing.collections import Collection, load_collection
from fanfuse_testing.server_case import card_of, write
from tests.servers.keyword_servers import REAL_SERVERS, KeywordServer

Say = Callable[[str], None]
PUBLISHED = {"scifact": 0.6789, "nfcorpus": 0.3218}
WITHIN = 0.01


def chunks(collection: Collection) -> list[Chunk]:
    return [
        Chunk(chunk_id=one.document_id, title=one.title[:200], text=one.text or "-", content_hash="0")
        for one in collection.documents
    ]


async def ndcg(engine: SearchEngine, collection: Collection) -> float:
    found = []
    for query, text in collection.queries.items():
        result = await engine.search(SearchRequest("acme", collection.name, text, window=100, timeout_s=30.0))
        found += [ir_measures.ScoredDoc(query, hit.chunk_id, -rank) for rank, hit in enumerate(result.hits)]
    judged = [ir_measures.Qrel(q, d, grade) for q, grades in collection.qrels.items() for d, grade in grades.items()]
    (quality,) = ir_measures.calc_aggregate([nDCG @ 10], judged, found).values()
    return float(quality)


def distance(say: Say, name: str, where: str, quality: float) -> float:
    say(f"{name}, BM25 by {where}: nDCG@10 {quality:.4f}, published {PUBLISHED[name]:.4f}")
    return abs(quality - PUBLISHED[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
async def test_embedded(name: str, shared: Path, tmp_path: Path, say: Say) -> None:
    collection = load_collection(name, shared)
    builder = TantivyIndexBuilder()
    builder.build(tmp_path, "acme", name, chunks(collection))
    engine = await builder.open(tmp_path)
    assert distance(say, name, "the embedded engine", await ndcg(engine, collection)) <= WITHIN
    await engine.close()


@pytest.mark.parametrize("server", REAL_SERVERS)
@pytest.mark.parametrize("name", PUBLISHED)
async def test_opensearch(name: str, server: KeywordServer, shared: Path, say: Say) -> None:
    collection = load_collection(name, shared)
    key = IndexKey("acme", name, "g1")
    backend: ServerBackend = server.connect(ServerSettings(url=server.address(), namespace="quality"))
    await backend.delete(key)
    await write(backend, key, chunks(collection), IndexShape(fields={}))
    assert await backend.count(key) == len(collection.documents)
    quality = await ndcg(await backend.open(card_of(backend, key)), collection)
    assert distance(say, name, server.version, quality) <= WITHIN
    await backend.delete(key)
    await backend.close()
