"""Builds the graph of one corpus: chunks, entities, who mentions whom, and typed relations.

In: chunks with entities and triples. Out: a graph file with the nodes, a file of edges. What a chunk mentions is said
in `domain.graph_names`. Edges are ranked per entity while indexing, so that a search reads the first of a hub.
"""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import kglite

from fanfuse_backend_workers.adapters import kglite_queries as queries
from fanfuse_backend_workers.adapters.filter_values import EXACT_OPERATORS, FieldValues
from fanfuse_backend_workers.adapters.index_manifest import IndexManifest, read_manifest, write_manifest
from fanfuse_backend_workers.adapters.kglite_edges import Edges, EdgesWriter
from fanfuse_backend_workers.adapters.kglite_graph import KgliteGraphEngine
from fanfuse_backend_workers.adapters.waiting_rows import Numbered, Waiting, numbered
from fanfuse_backend_workers.domain.analysis_names import last_name
from fanfuse_backend_workers.domain.graph_names import graph_names
from fanfuse_backend_workers.domain.graph_words import roots_of
from fanfuse_backend_workers.ports import SearchEngine
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import Kind

_BATCH: Final = 2_000
_GRAPH_FILE: Final = "graph.kgl"
_EDGES_FILE: Final = "edges.bin"
Row = dict[str, Any]


class KgliteIndexBuilder:
    """Builds and opens graph indexes."""

    kind = Kind.GRAPH
    operators = EXACT_OPERATORS

    def build(self, directory: Path, tenant: str, corpus: str, chunks: Iterable[Chunk]) -> int:
        """Write a complete index into an empty directory; returns the number of chunks. Blocking."""
        writer = _GraphWriter(tenant, corpus)
        values = FieldValues()
        writer.write_chunks(chunks, values, directory)
        writer.write_entities()
        count = writer.count_chunks()
        writer.save(directory)
        write_manifest(directory, IndexManifest(kind=self.kind, tenant=tenant, corpus=corpus, chunks=count), values)
        return count

    async def open(self, directory: Path) -> SearchEngine:
        """Open an index for reading; raises `SearchError`."""
        manifest, values = read_manifest(directory, self.kind)
        owner = {"tenant": manifest.tenant, "corpus": manifest.corpus}
        edges = await asyncio.to_thread(Edges.load, directory / _EDGES_FILE, owner)
        session = await asyncio.to_thread(kglite.open_session, str(directory / _GRAPH_FILE))
        return KgliteGraphEngine(session, edges, values)


class _GraphWriter:
    """Holds what is known only at the end: mentions and relations by entity (names and ranks, no text)."""

    def __init__(self, tenant: str, corpus: str) -> None:
        self._graph = kglite.KnowledgeGraph()
        self._owner = {"tenant": tenant, "corpus": corpus}
        self._edges = EdgesWriter(self._owner)
        for statement in queries.INDEXES:
            self._graph.cypher(statement)

    def write_chunks(self, chunks: Iterable[Chunk], values: FieldValues, directory: Path) -> None:
        rows = numbered(map(self._waiting, chunks), values, directory)
        self._write(queries.CREATE_CHUNKS, map(_chunk_row, rows))

    def _waiting(self, chunk: Chunk) -> Waiting:
        self._edges.add(chunk.chunk_id, graph_names(chunk))
        hit = {"chunk_id": chunk.chunk_id, "content_hash": chunk.content_hash, "title": chunk.title}
        return Waiting(hit, chunk.metadata)

    def write_entities(self) -> None:
        rows = ({**row, "last_name": last_name(row["key"])} for row in self._edges.entities())
        self._write(queries.CREATE_ENTITIES, rows)
        words = sorted({word for _, name, _ in self._edges.relations for word in roots_of(name)})
        self._write(queries.CREATE_RELATION_WORDS, ({"key": word} for word in words))

    def _write(self, statement: str, rows: Iterator[Row]) -> None:
        while batch := list(islice(rows, _BATCH)):
            self._graph.cypher(statement, params={"rows": batch, **self._owner})

    def count_chunks(self) -> int:
        rows: Any = self._graph.cypher(queries.COUNT_CHUNKS)
        return int(next(iter(rows))["chunks"])

    def save(self, directory: Path) -> None:
        self._edges.edges().save(directory / _EDGES_FILE)
        self._graph.save(str(directory / _GRAPH_FILE))


def _chunk_row(row: Numbered) -> Row:
    return {**row.fields, "values": {queries.value_property(field): value for field, value in row.numbers.items()}}
