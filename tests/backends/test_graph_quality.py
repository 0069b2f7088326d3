"""Ranking of the graph lane on real multi-hop questions, from the entities that the questions name, no path given.

metaqa: recall@100 of the gold answers by hops, over every eighth question
($FANFUSE_METAQA_STEP=1: all). musique-200: recall@10 of keyword, vector and graph joined by RRF
against keyword and vector, over the questions whose passages have a graph, with a bootstrap interval.
"""

import os
import re
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from fanfuse_backend_workers.adapters.kglite_index import KgliteIndexBuilder
from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder
from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder
from fanfuse_backend_workers.domain.analysis_names import entity_key
from fanfuse_backend_workers.ports import IndexBuilder, SearchRequest
from fanfuse_contracts.chunks import Chunk, Triple
from fanfuse_testing.collections import Collection, load_collection

Say = Callable[[str], None]
_EDGES = "?,.!;:\"'()"
_SMALL = frozenset(
    {"the", "of", "a", "an", "in", "on", "at", "by", "for", "to", "with", "and", "or", "is", "it", "what", "who"}
)


def table(folder: Path, name: str, file: str) -> list[list[str]]:
    """Rows of a tab-separated file of a collection, without its header."""
    with tarfile.open(folder / "data" / f"{name}.tar.xz") as archive:
        found = next(member for member in archive if member.name.endswith(file))
        stream = archive.extractfile(found)
        assert stream is not None
        return [line.split("\t") for line in stream.read().decode().splitlines()[1:]]


def triples(rows: Sequence[Sequence[str]]) -> tuple[Triple, ...]:
    named = ((subject, re.sub(r"\W+", "_", name).strip("_").upper()[:60], target) for subject, name, target in rows)
    return tuple(
        Triple(subject=subject, relation=f"R_{name}" if not name[:1].isalpha() else name, object=target)
        for subject, name, target in named
        if subject.strip() and target.strip() and name.isascii() and max(len(subject), len(target)) <= 512
    )


def names_in(text: str, names: frozenset[str]) -> tuple[str, ...]:
    """The longest names that stand in a text as they are written, none inside another."""
    words = [(match.start(), match.end()) for match in re.finditer(r"\S+", text)]
    taken: list[tuple[int, int]] = []
    found = []
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            written = text[words[start][0] : words[start + length - 1][1]]
            bare = written.strip(_EDGES)
            name = next((one for one in (written, bare, bare.removesuffix("'s")) if one in names), None)
            free = all(start + length <= first or start >= last for first, last in taken)
            if name and free and name.lower() not in _SMALL:
                taken.append((start, start + length))
                found.append(name)
    return tuple(found)


async def lists(
    folder: Path, builder: IndexBuilder, chunks: Sequence[Chunk], asked: Mapping[str, SearchRequest]
) -> tuple[dict[str, list[str]], list[float], int]:
    """Chunk ids per query, milliseconds per query, and how many lists were cut."""
    assert builder.build(folder, "acme", "docs", chunks) == len(chunks)
    engine = await builder.open(folder)
    found, spent_ms, cuts = {}, [], 0
    for query, request in asked.items():
        started = time.perf_counter()
        result = await engine.search(request)
        spent_ms.append((time.perf_counter() - started) * 1_000)
        cuts += result.cut is not None
        found[query] = [hit.chunk_id for hit in result.hits]
    await engine.close()
    return found, spent_ms, cuts


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def request(text: str, seeds: tuple[str, ...] = (), vector: Sequence[float] = ()) -> SearchRequest:
    return SearchRequest("acme", "docs", text, 100, 20.0, vector=tuple(vector), seeds=seeds)


def recall(found: Sequence[str], gold: Mapping[str, int], depth: int) -> float:
    return len(set(found[:depth]) & gold.keys()) / len(gold)


def films(collection: Collection, folder: Path) -> tuple[list[Chunk], frozenset[str]]:
    """A chunk per entity: it bears the entity's name and states the facts of which it is the subject."""
    facts = defaultdict(list)
    for row in table(folder, "metaqa", "triples.tsv"):
        facts[row[0]].append(row)
    stated: set[str] = set()
    chunks = []
    for document in collection.documents:
        own = () if document.title in stated else triples(facts[document.title])
        stated.add(document.title)
        chunks.append(
            Chunk(
                chunk_id=document.document_id, text=document.text, title=document.title, content_hash="0", triples=own
            )
        )
    return chunks, frozenset(stated)


@pytest.mark.slow
async def test_metaqa_recall_by_hops(tmp_path: Path, shared: Path, say: Say) -> None:
    collection = load_collection("metaqa", shared)
    chunks, names = films(collection, shared)
    some = list(collection.queries.items())[:: int(os.environ.get("FANFUSE_METAQA_STEP", "8"))]
    asked = {query: request(text, names_in(text, names)) for query, text in some}
    found, spent_ms, cuts = await lists(made(tmp_path / "graph"), KgliteIndexBuilder(), chunks, asked)
    by_hops = defaultdict(list)
    for query, ids in found.items():
        by_hops[query[0]].append(recall(ids, collection.qrels[query], 100))
    means = {hops: float(np.mean(values)) for hops, values in sorted(by_hops.items())}
    p50, p95 = np.percentile(spent_ms, (50, 95))
    say(f"metaqa graph recall@100 by hops {means}, p50 {p50:.0f} ms, p95 {p95:.0f} ms, {cuts} of {len(found)} cut")
    assert means["1"] >= 0.95
    assert means["2"] >= 0.90
    assert means["3"] >= 0.80


def passages(collection: Collection, folder: Path) -> Iterator[Chunk]:
    stated, mentioned = defaultdict(list), defaultdict(list)
    for passage, *fact in table(folder, "musique-200", "triples.tsv"):
        stated[passage].append(fact)
    for passage, name in table(folder, "musique-200", "passage_entities.tsv"):
        mentioned[passage].append(name)
    for document in collection.documents:
        name = document.document_id
        yield Chunk(
            chunk_id=name,
            text=f"{document.title} {document.text}",
            title=document.title[:200],
            content_hash="0",
            entities=tuple(mentioned[name]),
            triples=triples(stated[name]),
            vector=tuple(collection.document_vectors[name].tolist()),
        )


def joined(*ranked: Sequence[str]) -> list[str]:
    """RRF, k 60, equal weights."""
    scores: dict[str, float] = defaultdict(float)
    for ids in ranked:
        for place, name in enumerate(ids, start=1):
            scores[name] += 1 / (60 + place)
    return sorted(scores, key=lambda name: (-scores[name], name))


@pytest.mark.slow
async def test_musique_hybrid_with_graph(tmp_path: Path, shared: Path, say: Say) -> None:
    collection = load_collection("musique-200", shared)
    chunks = list(passages(collection, shared))
    graph = [chunk for chunk in chunks if chunk.triples or chunk.entities]
    with_graph = {chunk.chunk_id for chunk in graph}
    names = frozenset(
        name
        for chunk in graph
        for name in (chunk.title, *chunk.entities, *(end for t in chunk.triples for end in (t.subject, t.object)))
        if entity_key(name)
    )
    queries = {q: text for q, text in collection.queries.items() if collection.qrels[q].keys() <= with_graph}
    texts = {q: request(text, vector=collection.query_vectors[q].tolist()) for q, text in queries.items()}
    seeds = {q: request(text, names_in(text, names)) for q, text in queries.items()}
    keyword, _, _ = await lists(made(tmp_path / "keyword"), TantivyIndexBuilder(), chunks, texts)
    vector, _, _ = await lists(made(tmp_path / "vector"), QdrantIndexBuilder(), chunks, texts)
    walked, spent_ms, _ = await lists(made(tmp_path / "graph"), KgliteIndexBuilder(), chunks, seeds)
    gold = collection.qrels
    without = np.array([recall(joined(keyword[q], vector[q]), gold[q], 10) for q in queries])
    with_it = np.array([recall(joined(keyword[q], vector[q], walked[q]), gold[q], 10) for q in queries])
    alone = np.mean([recall(walked[q], gold[q], 10) for q in queries])
    draws = np.random.default_rng(1).integers(0, len(queries), (2_000, len(queries)))
    low, high = np.percentile((with_it - without)[draws].mean(axis=1), (2.5, 97.5))
    gain = float((with_it - without).mean())
    say(
        f"musique-200, {len(queries)} questions, recall@10: without graph {without.mean():.3f},"
        f" with {with_it.mean():.3f}, gain {gain:.3f}"
        f" [{low:.3f}, {high:.3f}], graph alone {alone:.3f}, p50 {np.median(spent_ms):.0f} ms"
    )
    assert low > 0
