"""Vector search in process: cosine over a flat Qdrant Edge shard.

The shard is written once, without a log, and then only read: loading and searching change no byte of it, so any number
of processes may open one index. It is never optimised: that blocks the interpreter for seconds, and flat is exact.
"""

import asyncio
import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

import qdrant_edge as edge

from fanfuse_backend_workers.adapters.engine_calls import call_engine
from fanfuse_backend_workers.adapters.filter_values import EXACT_OPERATORS, FieldValues
from fanfuse_backend_workers.adapters.index_manifest import IndexManifest, read_manifest, write_manifest
from fanfuse_backend_workers.adapters.qdrant_filters import MARKS, marks, search_filter
from fanfuse_backend_workers.adapters.ranking import Scored, best_hits
from fanfuse_backend_workers.adapters.unit_vector import query_direction, unit
from fanfuse_backend_workers.adapters.waiting_rows import Numbered, Waiting, numbered
from fanfuse_backend_workers.ports import (
    EngineHit,
    EngineResult,
    IndexWriteError,
    InvalidChunkError,
    SearchEngine,
    SearchError,
    SearchRequest,
)
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind, Kind

_VECTOR: Final = "dense"
_BATCH: Final = 500
_POINT_NAMESPACE: Final = UUID("0f6f1f0c-6f0e-5d0c-9a53-6e7a9b6a3f10")
_NO_POINTS_SIZE: Final = 1

Payload = dict[str, Any]


class QdrantIndexBuilder:
    """Builds and opens vector indexes."""

    kind = Kind.VECTOR
    operators = EXACT_OPERATORS

    def build(self, directory: Path, tenant: str, corpus: str, chunks: Iterable[Chunk]) -> int:
        """Write a complete index into an empty directory; returns the number of chunks. Blocking.

        The first chunk sets the size of the vectors. Raises `InvalidChunkError`, `IndexWriteError`.
        """
        stream = iter(chunks)
        first = next(stream, None)
        size = len(first.vector or ()) if first else None
        folder = _shard_folder(directory)
        with _writing():
            shard = edge.EdgeShard.create(str(folder), _config(size or _NO_POINTS_SIZE))
            shard.update(edge.UpdateOperation.create_field_index(MARKS, edge.KeywordIndexParams()))
        values = FieldValues()
        waiting = (_row(chunk, _checked(chunk, size)) for chunk in itertools.chain([first] if first else [], stream))
        for batch in _batches(numbered(waiting, values, directory)):
            points = [_point(tenant, corpus, row, values) for row in batch]
            with _writing():
                shard.update(edge.UpdateOperation.upsert_points(points))
        with _writing():
            shard.flush()
            count = int(shard.count(edge.CountRequest(exact=True)))
            shard.close()
        manifest = IndexManifest(kind=self.kind, tenant=tenant, corpus=corpus, chunks=count, dimensions=size)
        write_manifest(directory, manifest, values)
        return count

    async def open(self, directory: Path) -> SearchEngine:
        """Open an index for reading; raises `SearchError`."""
        manifest, values = read_manifest(directory, self.kind)
        shard = await asyncio.to_thread(edge.EdgeShard.load, str(directory / "shard"))
        return QdrantVectorEngine(shard, manifest, values)


class QdrantVectorEngine:
    """One corpus, opened for reading."""

    kind = Kind.VECTOR
    operators = EXACT_OPERATORS

    def __init__(self, shard: edge.EdgeShard, manifest: IndexManifest, values: FieldValues) -> None:
        self._shard: edge.EdgeShard | None = shard
        self._manifest = manifest
        self._values = values

    @property
    def dimensions(self) -> int | None:
        """Size of the vectors; None for an empty index."""
        return self._manifest.dimensions

    def check_dimensions(self, wanted: int) -> None:
        """Raise `SearchError(CONFIG)` if vectors of `wanted` dimensions can not be searched here."""
        if self.dimensions not in (None, wanted):
            name = f"{self._manifest.tenant}/{self._manifest.corpus}"
            raise SearchError(
                FailureKind.CONFIG,
                f"corpus {name} holds vectors of {self.dimensions} dimensions, not {wanted}:"
                " query with the model it was indexed with, or index it again",
            )

    async def search(self, request: SearchRequest) -> EngineResult:
        """Nearest chunks to `request.vector` by cosine, -1 to 1.

        Raises `SearchError`: EMBEDDER without a vector, BAD_REQUEST for one without direction, CONFIG for a wrong size.
        """
        vector = self._query_vector(request.vector)
        return await call_engine(partial(self._search, request, vector), request.timeout_s, ())

    def _query_vector(self, vector: tuple[float, ...] | None) -> list[float]:
        direction = query_direction(vector)
        self.check_dimensions(len(direction))
        return direction

    def _search(self, request: SearchRequest, vector: list[float]) -> EngineResult:
        shard = self._open_shard()
        if self.dimensions is None:
            return EngineResult(())
        condition = None if request.filter is None else self._values.compile(request.filter)
        chosen = search_filter(request.tenant, request.corpus, condition)
        try:
            return best_hits(partial(_found, shard, vector, chosen), _hits, request.window)
        except Exception as error:
            _reraise_ours(error)
            raise SearchError(FailureKind.UNAVAILABLE, "the vector engine failed") from error

    async def count(self) -> int:
        """Chunks in the index."""
        return int(self._open_shard().count(edge.CountRequest(exact=True)))

    async def close(self) -> None:
        """Release files and threads."""
        shard, self._shard = self._shard, None
        if shard is not None:
            shard.close()

    def _open_shard(self) -> edge.EdgeShard:
        if self._shard is None:
            raise SearchError(FailureKind.UNAVAILABLE, "the vector index is closed")
        return self._shard


def point_id(tenant: str, corpus: str, chunk_id: str) -> UUID:
    """UUIDv5 of the three names: equal chunk ids of two corpora are two points."""
    return uuid5(_POINT_NAMESPACE, "\0".join((tenant, corpus, chunk_id)))


def _reraise_ours(error: Exception) -> None:
    """The engine raises nothing but plain exceptions: whatever else comes out of a call is a fault of ours."""
    if type(error) is not Exception:
        raise error


@contextmanager
def _writing() -> Iterator[None]:
    """Calls of the engine that write."""
    try:
        yield
    except Exception as error:
        _reraise_ours(error)
        raise IndexWriteError(str(error)) from error


def _shard_folder(directory: Path) -> Path:
    folder = directory / "shard"
    folder.mkdir()
    return folder


def _config(size: int) -> edge.EdgeConfig:
    vectors = {_VECTOR: edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine)}
    return edge.EdgeConfig(vectors=vectors, wal_enabled=False, payload_memory=edge.Memory.Cached)


def _batches(rows: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    while batch := list(itertools.islice(rows, _BATCH)):
        yield batch


def _checked(chunk: Chunk, size: int | None) -> list[float]:
    vector = chunk.vector
    if not vector:
        raise InvalidChunkError(f"chunk {chunk.chunk_id!r} has no vector: name an embedder, or give vectors")
    if len(vector) != size:
        raise InvalidChunkError(f"chunk {chunk.chunk_id!r} has {len(vector)} dimensions, the chunks before it {size}")
    direction = unit(vector)
    if direction is None:
        raise InvalidChunkError(f"chunk {chunk.chunk_id!r} has a vector without direction: zero or not finite")
    return direction


def _row(chunk: Chunk, vector: list[float]) -> Waiting:
    hit = {"chunk_id": chunk.chunk_id, "content_hash": chunk.content_hash, "title": chunk.title}
    return Waiting(hit, chunk.metadata, array("f", vector).tobytes())


def _point(tenant: str, corpus: str, row: Numbered, values: FieldValues) -> edge.Point:
    payload = {**row.fields, MARKS: marks(tenant, corpus, values.tokens(row.numbers))}
    vector = array("f", row.blob).tolist()
    return edge.Point(point_id(tenant, corpus, payload["chunk_id"]), {_VECTOR: vector}, payload)


def _found(shard: edge.EdgeShard, vector: list[float], chosen: edge.Filter, limit: int) -> list[Scored[Payload]]:
    query = edge.Query.Nearest(vector, using=_VECTOR)
    found = shard.query(edge.QueryRequest(limit=limit, query=query, filter=chosen, with_payload=True))
    return [(point.score, point.payload or {}) for point in found]


def _hits(found: Sequence[Scored[Payload]]) -> list[EngineHit]:
    return [
        EngineHit(payload.get("chunk_id", ""), score or 0.0, payload.get("content_hash", ""), payload.get("title", ""))
        for score, payload in found
    ]
