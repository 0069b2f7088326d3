"""An Elasticsearch or OpenSearch server as a keyword backend: the one core behind both clients.

In: chunks, cards, searches. Out: indexes of this installation, made, filled, published and opened. An index that was
not made here is never written to, changed or deleted.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from fanfuse_backend_workers.adapters.filter_values import EXACT_OPERATORS
from fanfuse_backend_workers.adapters.lucene_calls import Call, Calls, Patience, Sender
from fanfuse_backend_workers.adapters.lucene_documents import delete_line, index_line
from fanfuse_backend_workers.adapters.lucene_engine import LuceneEngine, count
from fanfuse_backend_workers.adapters.lucene_failures import ServerError
from fanfuse_backend_workers.adapters.lucene_mapping import IndexNames, check_mapping, fields_of, index_body
from fanfuse_backend_workers.adapters.lucene_queries import shortage, stored_hits
from fanfuse_backend_workers.adapters.lucene_writing import WRITING, LuceneWriter
from fanfuse_backend_workers.ports import SearchEngine
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.retrieval import ChunkText

READING: Final = Patience(within_s=10.0, retries=1, pause_s=0.1)
_TEXTS_AT_ONCE: Final = 500
_EXISTS_ALREADY: Final = "resource_already_exists_exception"


class LuceneServer:
    """`ServerBackend` over one client."""

    kind = Kind.KEYWORD
    operators = EXACT_OPERATORS

    def __init__(self, sender: Sender, settings: ServerSettings, writing: Patience = WRITING) -> None:
        self._names = IndexNames(settings.namespace)
        self._calls = Calls(sender, settings.connections)
        self._writing = writing
        self._writer = LuceneWriter(self._calls, writing)
        self._written: dict[IndexKey, frozenset[str]] = {}

    async def ensure(self, key: IndexKey, shape: IndexShape) -> None:
        """Make the index of a generation, or check that it fits."""
        found = await self._mapping(key)
        if found is None:
            try:
                await self._ask("create", "PUT", f"/{self._names.index(key)}", index_body(key, shape), self._writing)
                return
            except ServerError as error:
                if error.cause != _EXISTS_ALREADY:
                    raise
            found = await self._existing(key)
        check_mapping(found, key, shape)

    async def upsert(self, key: IndexKey, chunks: Sequence[Chunk]) -> None:
        """Write one batch."""
        fields = await self._writable(key)
        lines = await asyncio.to_thread(lambda: [index_line(key, chunk, fields) for chunk in chunks])
        await self._writer.write(self._names.index(key), lines)

    async def delete(self, key: IndexKey, chunk_ids: Sequence[str] | None = None) -> int:
        """Delete these chunks of a generation, or all of it (None); returns how many there were."""
        if await self._mapping(key) is None:
            return 0
        await self._writable(key)
        if chunk_ids is not None:
            return await self._writer.write(self._names.index(key), [delete_line(one) for one in chunk_ids])
        await self.refresh(key)
        there = await self.count(key)
        self._written.pop(key, None)
        try:
            await self._ask("delete", "DELETE", f"/{self._names.index(key)}", None, self._writing)
        except ServerError as error:
            if error.kind is not FailureKind.NOT_FOUND:
                raise
        return there

    async def refresh(self, key: IndexKey) -> None:
        """Return when everything written is found."""
        said = await self._ask("refresh", "POST", f"/{self._names.index(key)}/_refresh", None, self._writing)
        if failed := said.get("_shards", {}).get("failed", 0):
            raise ServerError(FailureKind.UNAVAILABLE, f"{failed} shards could not be refreshed")

    async def count(self, key: IndexKey) -> int:
        """Chunks of a generation that are found."""
        return await count(self._calls, self._names.index(key))

    async def publish(self, key: IndexKey) -> None:
        """Point the corpus's alias to this generation, in one step."""
        fields_of(await self._existing(key), key)
        alias, index = self._names.alias(key.tenant, key.corpus), self._names.index(key)
        others = [name for name in await self._aliased(alias) if name != index]
        if foreign := [name for name in others if self._names.generation(name, key.tenant, key.corpus) is None]:
            raise ServerError(FailureKind.CONFIG, f"alias {alias!r} belongs to index {foreign[0]!r} of someone else")
        actions = [{"remove": {"index": name, "alias": alias}} for name in others]
        actions.append({"add": {"index": index, "alias": alias}})
        await self._ask("publish", "POST", "/_aliases", {"actions": actions}, self._writing)

    async def generations(self, tenant: str, corpus: str) -> tuple[str, ...]:
        """Generations of a corpus that exist, sorted."""
        try:
            found = await self._ask("generations", "GET", f"/{self._names.alias(tenant, corpus)}.*/_alias")
        except ServerError as error:
            if error.kind is FailureKind.NOT_FOUND:
                return ()
            raise
        named = (self._names.generation(index, tenant, corpus) for index in found)
        return tuple(sorted(generation for generation in named if generation))

    async def open(self, card: CorpusCard) -> SearchEngine:
        """The engine of the card's generation."""
        key = _key(card)
        return LuceneEngine(self._calls, self._names.index(key), fields_of(await self._existing(key), key))

    async def texts(self, card: CorpusCard, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """The chunks of the card's generation that exist, in any order."""
        key = _key(card)
        texts: list[ChunkText] = []
        for start in range(0, len(chunk_ids), _TEXTS_AT_ONCE):
            texts += await self._texts(key, chunk_ids[start : start + _TEXTS_AT_ONCE])
        return texts

    async def health(self) -> None:
        """Return if the server answers and lets this user search the installation's indexes."""
        nothing = {"size": 0, "query": {"match_none": {}}}
        await self._ask("health", "POST", f"/{self._names.everything}/_search", nothing)

    async def close(self) -> None:
        """Close the client."""
        await self._calls.close()

    async def _ask(
        self, name: str, method: str, path: str, body: object = None, patience: Patience = READING
    ) -> dict[str, Any]:
        sent = None if body is None else json.dumps(body).encode()
        found: dict[str, Any] = await self._calls.ask(Call(name, method, path, sent), patience)
        return found

    async def _mapping(self, key: IndexKey) -> dict[str, Any] | None:
        try:
            return await self._existing(key)
        except ServerError as error:
            if error.kind is FailureKind.NOT_FOUND:
                return None
            raise

    async def _existing(self, key: IndexKey) -> dict[str, Any]:
        index = self._names.index(key)
        found = await self._ask("mapping", "GET", f"/{index}/_mapping")
        mappings: dict[str, Any] = found.get(index, {}).get("mappings", {})
        return mappings

    async def _aliased(self, alias: str) -> list[str]:
        try:
            return list(await self._ask("alias", "GET", f"/_alias/{alias}"))
        except ServerError as error:
            if error.kind is FailureKind.NOT_FOUND:
                return []
            raise

    async def _writable(self, key: IndexKey) -> frozenset[str]:
        """Fields of an index that exists and is ours: a server would make up an index for a batch without one."""
        if key not in self._written:
            self._written[key] = fields_of(await self._existing(key), key)
        return self._written[key]

    async def _texts(self, key: IndexKey, chunk_ids: Sequence[str]) -> list[ChunkText]:
        exact = [{"term": {name: value}} for name, value in key._asdict().items()]
        body = {
            "size": len(chunk_ids),
            "track_total_hits": False,
            "_source": ["chunk_id", "text", "source"],
            "query": {"bool": {"filter": [*exact, {"terms": {"chunk_id": list(chunk_ids)}}]}},
        }
        found = await self._ask("texts", "POST", f"/{self._names.index(key)}/_search", body)
        if (short := shortage(found)) is not None:
            raise ServerError(FailureKind.UNAVAILABLE, f"not all texts could be read: {short}")
        stored = (hit["_source"] for hit in stored_hits(found))
        return [ChunkText(chunk_id=one["chunk_id"], text=one["text"], source=one["source"]) for one in stored]


def _key(card: CorpusCard) -> IndexKey:
    if card.generation is None:
        raise ServerError(FailureKind.NOT_FOUND, f"corpus {card.corpus!r} has no index here: index it")
    return IndexKey(card.tenant, card.corpus, card.generation)
