"""Chunks as points of a Qdrant collection, and the filters that keep tenants, corpora and generations apart.

In: chunks of one generation. Out: points with ids that no other chunk has. Every generation has a point of its own
without a vector: it is what exists of a generation without chunks, and no search ever finds it.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import UUID, uuid5

from qdrant_client import models

from fanfuse_backend_workers.adapters.qdrant_server_values import stored
from fanfuse_backend_workers.adapters.unit_vector import unit
from fanfuse_backend_workers.ports import InvalidChunkError
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_contracts.chunks import Chunk

VECTOR: Final = "dense"
TENANT, CORPUS, GENERATION = "tenant", "corpus", "generation"
GENERATION_OF: Final = "generation_of"
HIT_FIELDS: Final = ("chunk_id", "content_hash", "title")
TEXT_FIELDS: Final = ("chunk_id", "text", "source")
MAX_BATCH_BYTES: Final = 5_000_000
_BYTES_PER_NUMBER: Final = 22
_NAMESPACE: Final = UUID("6d0a9c1e-4f53-5a1b-8d42-2b1f7c9e0a66")


def point_id(key: IndexKey, chunk_id: str) -> str:
    """UUIDv5 of tenant, corpus, generation and chunk id: no two chunks share a point."""
    return str(uuid5(_NAMESPACE, "\0".join((*key, chunk_id))))


def generation_point(key: IndexKey) -> models.PointStruct:
    """What says that a generation exists."""
    payload = {GENERATION_OF: owner(key.tenant, key.corpus), GENERATION: key.generation}
    return models.PointStruct(id=generation_point_id(key), vector={}, payload=payload)


def generation_point_id(key: IndexKey) -> str:
    """Its id; no chunk id is empty."""
    return point_id(key, "")


def owner(tenant: str, corpus: str) -> str:
    """One string for a corpus of a tenant; a token holds no dot."""
    return f"{tenant}.{corpus}"


def chunk_point(key: IndexKey, chunk: Chunk, size: int) -> models.PointStruct:
    """The point of a chunk. Raises `InvalidChunkError`, naming the chunk."""
    try:
        metadata = stored(chunk.metadata)
    except InvalidChunkError as error:
        raise InvalidChunkError(f"chunk {chunk.chunk_id!r}: {error}") from None
    payload: dict[str, Any] = {
        TENANT: key.tenant,
        CORPUS: key.corpus,
        GENERATION: key.generation,
        "chunk_id": chunk.chunk_id,
        "content_hash": chunk.content_hash,
        "title": chunk.title,
        "text": chunk.text,
        "source": chunk.source,
        **metadata,
    }
    return models.PointStruct(id=point_id(key, chunk.chunk_id), vector={VECTOR: _vector(chunk, size)}, payload=payload)


def within(key: IndexKey, condition: models.Filter | None = None) -> models.Filter:
    """Chunks of one generation for which `condition` holds."""
    required: list[models.Condition] = [
        _is(TENANT, key.tenant),
        _is(CORPUS, key.corpus),
        _is(GENERATION, key.generation),
    ]
    return models.Filter(must=required if condition is None else [*required, condition])


def generations_of(tenant: str, corpus: str) -> models.Filter:
    """The points of a corpus's generations."""
    return models.Filter(must=[_is(GENERATION_OF, owner(tenant, corpus))])


def own_indexes() -> dict[str, models.KeywordIndexParams]:
    """The payload indexes of every collection."""
    keyword = models.KeywordIndexType.KEYWORD
    return {
        TENANT: models.KeywordIndexParams(type=keyword, is_tenant=True),
        CORPUS: models.KeywordIndexParams(type=keyword),
        GENERATION: models.KeywordIndexParams(type=keyword),
        GENERATION_OF: models.KeywordIndexParams(type=keyword, enable_hnsw=False),
    }


def batches(points: Iterable[models.PointStruct]) -> Iterator[list[models.PointStruct]]:
    """The points in order, in batches of about 5 MB at most (a larger point is a batch of its own)."""
    batch: list[models.PointStruct] = []
    weight = 0
    for point in points:
        heavy = _weight(point)
        if batch and weight + heavy > MAX_BATCH_BYTES:
            yield batch
            batch, weight = [], 0
        batch.append(point)
        weight += heavy
    if batch:
        yield batch


def _vector(chunk: Chunk, size: int) -> list[float]:
    if not chunk.vector:
        raise InvalidChunkError(f"chunk {chunk.chunk_id!r} has no vector: name an embedder, or give vectors")
    if len(chunk.vector) != size:
        raise InvalidChunkError(f"chunk {chunk.chunk_id!r} has {len(chunk.vector)} dimensions, its collection {size}")
    found = unit(chunk.vector)
    if found is None:
        raise InvalidChunkError(f"chunk {chunk.chunk_id!r} has a vector without direction: zero or not finite")
    return found


def _is(field: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def _weight(point: models.PointStruct) -> int:
    """About the bytes of a point on the wire."""
    assert isinstance(point.vector, dict)
    numbers = sum(len(vector) for vector in point.vector.values() if isinstance(vector, list))
    return numbers * _BYTES_PER_NUMBER + len(str(point.payload).encode("utf-8", "replace"))
