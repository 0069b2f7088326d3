"""Builds the graph of one corpus: chunks, entities, who mentions whom, and typed relations.

In: chunks with entities and triples. Out: one graph file. A chunk mentions its entities and both ends of its triples.
Edges are ranked per entity while indexing, so that a search can bound the fan-out of a hub by a predicate.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import kglite

from fanfuse_backend_workers.adapters import kglite_queries as queries
from fanfuse_backend_workers.adapters.filter_values import EXACT_OPERATORS, FieldValues
from fanfuse_backend_workers.adapters.index_manifest import IndexManifest, read_manifest, write_manifest
from fanfuse_backend_workers.adapters.kglite_graph import KgliteGraphEngine
from fanfuse_backend_workers.domain.analysis_names import entity_key, last_name
from fanfuse_backend_workers.ports import SearchEngine
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import Kind

_BATCH: Final = 2_000
_GRAPH_FILE: Final = "graph.kgl"
Row = dict[str, Any]


class KgliteIndexBuilder:
    """Builds and opens graph indexes."""

    kind = Kind.GRAPH
    operators = EXACT_OPERATORS

    def build(self, directory: Path, tenant: str, corpus: str, chunks: Iterable[Chunk]) -> int:
        """Write a complete index into an empty directory; returns the number of chunks. Blocking."""
        writer = _GraphWriter(tenant, corpus)
        values = FieldValues()
        writer.write_chunks(chunks, values)
        writer.write_entities()
        count = writer.count_chunks()
        writer.save(directory / _GRAPH_FILE)
        write_manifest(directory, IndexManifest(kind=self.kind, tenant=tenant, corpus=corpus, chunks=count), values)
        return count

    async def open(self, directory: Path) -> SearchEngine:
        """Open an index for reading; raises `SearchError`."""
        manifest, values = read_manifest(directory, self.kind)
        session = await asyncio.to_thread(kglite.open_session, str(directory / _GRAPH_FILE))
        return KgliteGraphEngine(session, manifest, values)


class _GraphWriter:
    """Holds what is known only at the end: mentions and relations by entity (names and ranks, no text)."""

    def __init__(self, tenant: str, corpus: str) -> None:
        self._graph = kglite.KnowledgeGraph()
        self._owner = {"tenant": tenant, "corpus": corpus}
        self._mentions: dict[str, list[str]] = defaultdict(list)
        self._relations: set[tuple[str, str, str]] = set()
        for statement in queries.INDEXES:
            self._graph.cypher(statement)

    def write_chunks(self, chunks: Iterable[Chunk], values: FieldValues) -> None:
        self._write(queries.CREATE_CHUNKS, (self._chunk_row(chunk, values) for chunk in chunks))

    def _chunk_row(self, chunk: Chunk, values: FieldValues) -> Row:
        relations = {
            (entity_key(triple.subject), triple.relation, entity_key(triple.object)) for triple in chunk.triples
        }
        self._relations |= {(subject, name, target) for subject, name, target in relations if subject and target}
        keys = {entity_key(name) for name in chunk.entities} | {end for s, _, o in relations for end in (s, o)}
        for key in sorted(keys - {""}):
            self._mentions[key].append(chunk.chunk_id)
        numbers = values.number(chunk.metadata)
        return {
            "chunk_id": chunk.chunk_id,
            "content_hash": chunk.content_hash,
            "title": chunk.title,
            "values": {queries.value_property(field): value for field, value in numbers.items()},
        }

    def write_entities(self) -> None:
        self._write(queries.CREATE_ENTITIES, self._entity_rows())
        self._write(queries.CREATE_MENTIONS, self._mention_rows())
        self._write(queries.CREATE_RELATIONS, ranked_relations(self._relations))

    def _entity_rows(self) -> Iterator[Row]:
        outgoing = Counter(subject for subject, _, _ in self._relations)
        incoming = Counter(target for _, _, target in self._relations)
        for key, chunk_ids in self._mentions.items():
            yield {
                "key": key,
                "last_name": last_name(key),
                "mentions": len(chunk_ids),
                "outgoing": outgoing[key],
                "incoming": incoming[key],
            }

    def _mention_rows(self) -> Iterator[Row]:
        for key, chunk_ids in self._mentions.items():
            for rank, chunk_id in enumerate(sorted(chunk_ids), start=1):
                yield {"key": key, "chunk_id": chunk_id, "rank": rank}

    def _write(self, statement: str, rows: Iterator[Row]) -> None:
        while batch := list(islice(rows, _BATCH)):
            self._graph.cypher(statement, params={"rows": batch, **self._owner})

    def count_chunks(self) -> int:
        rows: Any = self._graph.cypher(queries.COUNT_CHUNKS)
        return int(next(iter(rows))["chunks"])

    def save(self, path: Path) -> None:
        self._graph.save(str(path))


def ranked_relations(relations: Iterable[tuple[str, str, str]]) -> Iterator[Row]:
    """Relations with their rank at either end: neighbours with few relations first (a hub says little), then by key."""
    rows: list[Row] = [
        {"subject": subject, "name": name, "object": target} for subject, name, target in sorted(relations)
    ]
    degrees = Counter(row[end] for row in rows for end in ("subject", "object"))
    _rank(rows, "subject", "object", degrees)
    _rank(rows, "object", "subject", degrees)
    yield from rows


def _rank(rows: list[Row], near: str, far: str, degrees: Mapping[str, int]) -> None:
    given: Counter[str] = Counter()
    for row in sorted(rows, key=lambda row: (degrees[row[far]], row[far], row["name"])):
        given[row[near]] += 1
        row[f"{near}_rank"] = given[row[near]]
