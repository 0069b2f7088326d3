"""Ranking quality on real, judged collections: every query through the engines as a worker would ask them.

nDCG@10 of Lucene's English analyser is .359 on cranfield and .683 on scifact; of the precomputed vectors, searched
exhaustively, .382 and .647.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ir_measures
import pytest
from ir_measures import nDCG

from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder
from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder
from fanfuse_backend_workers.ports import IndexBuilder, SearchRequest
from fanfuse_contracts.chunks import Chunk
from fanfuse_testing.collections import Collection, load_collection

BUILDERS: dict[str, Callable[[], IndexBuilder]] = {"keyword": TantivyIndexBuilder, "vector": QdrantIndexBuilder}


def chunks(collection: Collection) -> Iterator[Chunk]:
    for document in collection.documents:
        vector = tuple(collection.document_vectors[document.document_id].tolist())
        text = f"{document.title} {document.text}".strip() or "-"
        yield Chunk(chunk_id=document.document_id, text=text, content_hash="0", vector=vector)


async def run(folder: Path, builder: IndexBuilder, collection: Collection) -> tuple[float, float]:
    """nDCG@10, and milliseconds per query."""
    assert builder.build(folder, "acme", "docs", chunks(collection)) == len(collection.documents)
    engine = await builder.open(folder)
    found = []
    started = time.perf_counter()
    for query, text in collection.queries.items():
        vector = tuple(collection.query_vectors[query].tolist())
        result = await engine.search(SearchRequest("acme", "docs", text, window=100, timeout_s=5.0, vector=vector))
        assert len(result.hits) <= 100
        found += [ir_measures.ScoredDoc(query, hit.chunk_id, -rank) for rank, hit in enumerate(result.hits)]
    spent_ms = (time.perf_counter() - started) * 1_000 / len(collection.queries)
    await engine.close()
    judged = [ir_measures.Qrel(q, d, grade) for q, grades in collection.qrels.items() for d, grade in grades.items()]
    (quality,) = ir_measures.calc_aggregate([nDCG @ 10], judged, found).values()
    return quality, spent_ms


@pytest.mark.parametrize(
    ("name", "kind", "least"),
    [
        ("cranfield", "keyword", 0.36),
        ("cranfield", "vector", 0.38),
        ("scifact", "keyword", 0.68),
        ("scifact", "vector", 0.64),
    ],
)
async def test_ndcg(tmp_path: Path, shared: Path, name: str, kind: str, least: float) -> None:
    quality, spent_ms = await run(tmp_path, BUILDERS[kind](), load_collection(name, shared))
    print(f"{name} {kind}: nDCG@10 {quality:.4f}, {spent_ms:.2f} ms per query")  # noqa: T201
    assert quality >= least


async def test_chinese_is_searched_by_two_character_grams(tmp_path: Path, shared: Path) -> None:
    quality, _ = await run(tmp_path, TantivyIndexBuilder(), load_collection("t2ranking-sample", shared))
    assert quality >= 0.58
