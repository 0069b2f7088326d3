"""A Qdrant server, or Qdrant in process, behind the port of engine servers.

In: chunks with vectors. Out: generations, opened for searching, and their texts. Points of other tenants, corpora,
generations and installations are never read, written or deleted.
"""

from collections.abc import Sequence
from typing import Final

from qdrant_client import AsyncQdrantClient, models

from fanfuse_backend_workers.adapters.qdrant_server_calls import QdrantCalls, QdrantError
from fanfuse_backend_workers.adapters.qdrant_server_collections import CALL_S, Collections
from fanfuse_backend_workers.adapters.qdrant_server_filters import OPERATORS
from fanfuse_backend_workers.adapters.qdrant_server_points import (
    GENERATION,
    TEXT_FIELDS,
    batches,
    chunk_point,
    generation_point,
    generation_point_id,
    generations_of,
    point_id,
    within,
)
from fanfuse_backend_workers.adapters.qdrant_server_search import QdrantServerEngine
from fanfuse_backend_workers.ports import InvalidChunkError, SearchEngine
from fanfuse_backend_workers.servers import IndexKey, IndexShape
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.retrieval import ChunkText

WRITE_S: Final = 60.0
"""For one batch of about 5 MB."""
_PAGE: Final = 500


class QdrantServer:
    """Every corpus of one installation on one server."""

    kind = Kind.VECTOR
    operators = OPERATORS

    def __init__(self, client: AsyncQdrantClient, namespace: str, connections: int) -> None:
        self._client = client
        self._namespace = namespace
        self._calls = QdrantCalls(connections)
        self._collections = Collections(client, self._calls, namespace)

    async def ensure(self, key: IndexKey, shape: IndexShape) -> None:
        """Make the collection of the shape's embedder, its payload indexes and the generation. Idempotent."""
        if shape.embedder is None:
            message = f"a vector server needs the embedder of {key.tenant}/{key.corpus}: its model and dimensions"
            raise QdrantError(FailureKind.CONFIG, message)
        name = await self._collections.made(key, shape.embedder, shape.fields)
        await self._write(name, [generation_point(key)])
        self._collections.remember(key, name)

    async def upsert(self, key: IndexKey, chunks: Sequence[Chunk]) -> None:
        """Write one batch. Raises BAD_REQUEST, naming the chunk that can not be stored, before anything is written."""
        name = await self._collections.place(key)
        size = await self._collections.size(name)
        try:
            points = [chunk_point(key, chunk, size) for chunk in chunks]
        except InvalidChunkError as error:
            raise QdrantError(FailureKind.BAD_REQUEST, str(error)) from error
        for batch in batches(points):
            await self._write(name, batch)

    async def delete(self, key: IndexKey, chunk_ids: Sequence[str] | None = None) -> int:
        """Delete chunks, or a generation and what says that it exists, in that order."""
        if chunk_ids is not None:
            return await self._delete_chunks(key, chunk_ids)
        name = await self._collections.find(key)
        if name is None:
            return 0
        chunks = await self._count(name, key)
        await self._delete(name, models.FilterSelector(filter=within(key)))
        await self._delete(name, models.PointIdsList(points=[generation_point_id(key)]))
        self._collections.forget(key)
        return chunks

    async def refresh(self, key: IndexKey) -> None:
        """Writes are waited for: what `upsert` wrote is found. Raises NOT_FOUND where there is no such generation."""
        await self._collections.place(key)

    async def count(self, key: IndexKey) -> int:
        """Chunks of a generation, exactly."""
        return await self._count(await self._existing(key), key)

    async def publish(self, key: IndexKey) -> None:
        """Let the collection's alias, for people and dashboards, point to it. Searches name the collection itself."""
        name = await self._existing(key)
        alias = name.rpartition("-")[0]
        listed = await self._calls.run_again(self._client.get_aliases, CALL_S)
        held_by = {one.alias_name: one.collection_name for one in listed.aliases}.get(alias)
        if held_by == name:
            return
        create = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=name, alias_name=alias))
        remove = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        changes: list[models.AliasOperations] = [create] if held_by is None else [remove, create]
        await self._calls.run(lambda: self._client.update_collection_aliases(changes), CALL_S)

    async def generations(self, tenant: str, corpus: str) -> tuple[str, ...]:
        """Generations of a corpus in any collection, sorted."""
        found: set[str] = set()
        for name in await self._collections.names():
            found |= await self._generations_in(name, tenant, corpus)
        return tuple(sorted(found))

    async def open(self, card: CorpusCard) -> SearchEngine:
        """The engine of the card's generation, whose vectors fit the card's embedder."""
        key = _key_of(card)
        name = await self._existing(key)
        if card.embedder is not None:
            await self._collections.checked(name, card.embedder)
        size, chunks = await self._collections.size(name), await self._count(name, key)
        return QdrantServerEngine(self._client, self._calls, key, name, size, chunks)

    async def texts(self, card: CorpusCard, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """The chunks of the card's generation that exist."""
        key = _key_of(card)
        name = await self._collections.place(key)
        found: list[ChunkText] = []
        for start in range(0, len(chunk_ids), _PAGE):
            page = chunk_ids[start : start + _PAGE]
            found += [ChunkText(**(one.payload or {})) for one in await self._points(name, key, page, TEXT_FIELDS)]
        return found

    async def health(self) -> None:
        """Return if the server lists its collections for these credentials."""
        await self._calls.run(self._client.get_collections, CALL_S)

    async def close(self) -> None:
        """Close the client."""
        if not self._calls.closed:
            self._calls.closed = True
            await self._client.close()

    async def _existing(self, key: IndexKey) -> str:
        self._collections.forget(key)  # another process may have deleted it
        return await self._collections.place(key)

    async def _write(self, name: str, points: list[models.PointStruct]) -> None:
        await self._calls.run(
            lambda: self._client.upsert(name, points=points, wait=True, timeout=int(WRITE_S)), WRITE_S
        )

    async def _delete(self, name: str, selector: models.PointsSelector) -> None:
        await self._calls.run(
            lambda: self._client.delete(name, points_selector=selector, wait=True, timeout=int(WRITE_S)), WRITE_S
        )

    async def _delete_chunks(self, key: IndexKey, chunk_ids: Sequence[str]) -> int:
        name = await self._collections.place(key)
        deleted = 0
        for start in range(0, len(chunk_ids), _PAGE):
            there = await self._points(name, key, chunk_ids[start : start + _PAGE], ())
            if there:
                await self._delete(name, models.PointIdsList(points=[one.id for one in there]))
            deleted += len(there)
        return deleted

    async def _points(
        self, name: str, key: IndexKey, chunk_ids: Sequence[str], fields: Sequence[str]
    ) -> list[models.Record]:
        ids = [point_id(key, chunk_id) for chunk_id in chunk_ids]
        payload: list[str] | bool = list(fields) or False
        return await self._calls.run_again(
            lambda: self._client.retrieve(name, ids, with_payload=payload, timeout=int(CALL_S)), CALL_S
        )

    async def _count(self, name: str, key: IndexKey) -> int:
        chosen = within(key)
        counted = await self._calls.run_again(
            lambda: self._client.count(name, count_filter=chosen, exact=True, timeout=int(CALL_S)), CALL_S
        )
        return counted.count

    async def _generations_in(self, name: str, tenant: str, corpus: str) -> set[str]:
        chosen, found, offset = generations_of(tenant, corpus), set[str](), None
        while True:
            points, offset = await self._calls.run_again(
                lambda start=offset: self._client.scroll(  # type: ignore[misc]
                    name, scroll_filter=chosen, limit=_PAGE, offset=start, with_payload=[GENERATION]
                ),
                CALL_S,
            )
            found |= {str((point.payload or {})[GENERATION]) for point in points}
            if offset is None:
                return found


def _key_of(card: CorpusCard) -> IndexKey:
    if card.generation is None:
        raise QdrantError(FailureKind.NOT_FOUND, f"corpus {card.corpus!r} has no generation: index it")
    return IndexKey(card.tenant, card.corpus, card.generation)
