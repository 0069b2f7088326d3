"""Ranking of the graph lane on real multi-hop questions, from the entities that the questions name, no path given.

metaqa: recall@100 of the gold answers by hops, over every eighth question
($FANFUSE_METAQA_STEP=1: all). musique-200: recall@10 of keyword, vector and graph joined by RRF
against keyword and vector, over the questions whose passages have a graph, with a bootstrap interval.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from fanfuse_backend_workers.adapters.kglite_index import KgliteIndexBuilder
from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder
from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder
from fanfuse_backend_workers.ports import IndexBuilder, SearchRequest
from fanfuse_contracts.chunks import Chunk
from fanfuse_evaluation.bootstrap import interval
from fanfuse_evaluation.measures import recall
from fanfuse_testing.graph_questions import metaqa, musique

Say = Callable[[str], None]


async def lists(
    folder: Path, builder: IndexBuilder, chunks: Sequence[Chunk], asked: Mapping[str, SearchRequest]
) -> tuple[dict[str, list[str]], list[float], int]:
    """Chunk ids per query, milliseconds of CPU per query, and how many lists were cut."""
    assert builder.build(folder, "acme", "docs", chunks) == len(chunks)
    engine = await builder.open(folder)
    found, spent_ms, cuts = {}, [], 0
    for query, request in asked.items():
        started = time.process_time()
        result = await engine.search(request)
        spent_ms.append((time.process_time() - started) * 1_000)
        cuts += result.cut is not None
        found[query] = [hit.chunk_id for hit in result.hits]
    await engine.close()
    return found, spent_ms, cuts


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def request(text: str, seeds: tuple[str, ...] = (), vector: Sequence[float] = ()) -> SearchRequest:
    return SearchRequest("acme", "docs", text, 100, 20.0, vector=tuple(vector), seeds=seeds)


@pytest.mark.slow
async def test_metaqa_recall_by_hops(tmp_path: Path, shared: Path, say: Say) -> None:
    """The aims of the graph lane, and how few of its lists may lack something."""
    asked = metaqa(shared, int(os.environ.get("FANFUSE_METAQA_STEP", "8")))
    requests = {query: request(text, asked.seeds[query]) for query, text in asked.texts.items()}
    found, spent_ms, cuts = await lists(made(tmp_path / "graph"), KgliteIndexBuilder(), asked.chunks, requests)
    values = recall([asked.collection.qrels[query] for query in found], list(found.values()), 100)
    by_hops = defaultdict(list)
    for query, value in zip(found, values, strict=True):
        by_hops[query[0]].append(value)
    means = {hops: round(float(np.mean(values)), 4) for hops, values in sorted(by_hops.items())}
    p50, p95 = np.percentile(spent_ms, (50, 95))
    say(f"metaqa graph recall@100 by hops {means}, CPU p50 {p50:.0f} ms, p95 {p95:.0f} ms, {cuts} of {len(found)} cut")
    assert means["1"] >= 0.95
    assert means["2"] >= 0.90
    assert means["3"] >= 0.80
    assert cuts <= 0.1 * len(found)


def joined(*ranked: Sequence[str]) -> list[str]:
    """RRF, k 60, equal weights."""
    scores: dict[str, float] = defaultdict(float)
    for ids in ranked:
        for place, name in enumerate(ids, start=1):
            scores[name] += 1 / (60 + place)
    return sorted(scores, key=lambda name: (-scores[name], name))


@pytest.mark.slow
async def test_musique_hybrid_with_graph(tmp_path: Path, shared: Path, say: Say) -> None:
    """The gain of the graph lane on multi-hop questions, without the flow."""
    asked = musique(shared)
    collection, queries = asked.collection, asked.texts
    graph = [chunk for chunk in asked.chunks if chunk.triples or chunk.entities]
    texts = {q: request(text, vector=collection.query_vectors[q].tolist()) for q, text in queries.items()}
    seeds = {q: request(text, asked.seeds[q]) for q, text in queries.items()}
    keyword, _, _ = await lists(made(tmp_path / "keyword"), TantivyIndexBuilder(), asked.chunks, texts)
    vector, _, _ = await lists(made(tmp_path / "vector"), QdrantIndexBuilder(), asked.chunks, texts)
    walked, spent_ms, cuts = await lists(made(tmp_path / "graph"), KgliteIndexBuilder(), graph, seeds)
    gold = [collection.qrels[q] for q in queries]
    without = recall(gold, [joined(keyword[q], vector[q]) for q in queries], 10)
    with_it = recall(gold, [joined(keyword[q], vector[q], walked[q]) for q in queries], 10)
    alone = recall(gold, [walked[q] for q in queries], 10).mean()
    gain, low, high = interval(without, with_it)
    say(
        f"musique-200, {len(queries)} questions, recall@10: without graph {without.mean():.3f},"
        f" with {with_it.mean():.3f}, gain {gain:.3f} [{low:.3f}, {high:.3f}], graph alone {alone:.3f},"
        f" CPU p50 {np.median(spent_ms):.0f} ms, {cuts} cut"
    )
    assert low > 0
    assert cuts <= 0.1 * len(queries)
