"""A Neo4j server: many generations of many corpora in one database, apart by tenant, corpus and generation.

In: chunks, cards. Out: opened engines, texts, counts. Every node carries its tenant, corpus and generation; a node of
its own says that a generation exists. Publishing moves nothing here: the card names the generation that is searched.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from fanfuse_backend_workers.adapters.neo4j_calls import Neo4jCalls
from fanfuse_backend_workers.adapters.neo4j_filters import OPERATORS
from fanfuse_backend_workers.adapters.neo4j_ranks import rank_generation
from fanfuse_backend_workers.adapters.neo4j_search import Neo4jEngine, count_chunks
from fanfuse_backend_workers.adapters.neo4j_statements import Statements
from fanfuse_backend_workers.adapters.neo4j_writing import BatchWriter, owner_of
from fanfuse_backend_workers.ports import SearchEngine, SearchError
from fanfuse_backend_workers.servers import IndexKey, IndexShape
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.retrieval import ChunkText

_CALL_S: Final = 10.0
_SCHEMA_S: Final = 60.0
_WRITE_S: Final = 60.0
_DELETED_AT_ONCE: Final = 2_000
_FORMAT: Final = 2
"""Raised with every change of what is written: a generation of another format is refused instead of walked wrongly."""


class Neo4jServer:
    """One server, for any number of corpora."""

    kind = Kind.GRAPH
    operators = OPERATORS

    def __init__(self, calls: Neo4jCalls, statements: Statements) -> None:
        self._calls = calls
        self._statements = statements
        self._prepared = asyncio.Lock()
        self._full_text: bool | None = None

    async def ensure(self, key: IndexKey, shape: IndexShape) -> None:
        """Make constraints, indexes and the generation. Idempotent; any metadata fits, `shape` restricts nothing."""
        async with self._prepared:
            if self._full_text is None:
                for statement in self._statements.schema():
                    await self._calls.run(statement, {}, _SCHEMA_S)
                self._full_text = await self._make_full_text()
        made = f"MERGE (n:{self._statements.index} {{key: $scope}}) ON CREATE SET n += $owner"
        await self._calls.run(made, {**owner_of(key), "owner": {**owner_of(key), "format": _FORMAT}}, _CALL_S)

    async def _make_full_text(self) -> bool:
        """False where the server has no such index: names are then scanned for words."""
        try:
            await self._calls.run(self._statements.full_text(), {}, _SCHEMA_S)
            await self._calls.read("CALL db.awaitIndexes(60)", {}, _SCHEMA_S)
        except SearchError as error:
            if error.kind in (FailureKind.BAD_REQUEST, FailureKind.UNAVAILABLE):
                return await self._has_full_text()
            raise
        return True

    async def _has_full_text(self) -> bool:
        """Whether somebody made the index, asked without any right to make it."""
        try:
            await self._calls.read(
                "CALL db.index.fulltext.queryNodes($names, 'none') YIELD node RETURN node.key AS key LIMIT 1",
                {"names": self._statements.names},
                _CALL_S,
            )
        except SearchError as error:
            if error.kind in (FailureKind.BAD_REQUEST, FailureKind.UNAVAILABLE):
                return False
            raise
        return True

    async def upsert(self, key: IndexKey, chunks: Sequence[Chunk]) -> None:
        """Write one batch in one transaction. Raises NOT_FOUND where the generation was not made."""
        if chunks:
            await self._calls.write(BatchWriter(self._statements, key, chunks).upsert, _WRITE_S)

    async def delete(self, key: IndexKey, chunk_ids: Sequence[str] | None = None) -> int:
        """Delete these chunks, or the generation with all that is in it; returns the number of chunks."""
        if chunk_ids is not None:
            writer, ids = BatchWriter(self._statements, key, ()), list(chunk_ids)
            return await self._calls.write(lambda transaction: writer.delete(transaction, ids), _WRITE_S)
        for label in (self._statements.entity, self._statements.word):
            await self._delete_all(key, label)
        deleted = await self._delete_all(key, self._statements.chunk)
        statement = f"MATCH (n:{self._statements.index} {{key: $scope}}) DELETE n"
        await self._calls.run(statement, owner_of(key), _CALL_S)
        return deleted

    async def _delete_all(self, key: IndexKey, label: str) -> int:
        statement = f"MATCH (n:{label} {{scope: $scope}}) WITH n LIMIT $most DETACH DELETE n RETURN count(*) AS deleted"
        total = 0
        while True:
            rows = await self._calls.run(statement, {**owner_of(key), "most": _DELETED_AT_ONCE}, _WRITE_S)
            deleted = int(rows[0]["deleted"]) if rows else 0
            total += deleted
            if deleted < _DELETED_AT_ONCE:
                return total

    async def refresh(self, key: IndexKey) -> None:
        """Rank what was written: only then is it walked in the right order."""
        await rank_generation(self._calls, self._statements, owner_of(key))

    async def count(self, key: IndexKey) -> int:
        """Chunks of a generation; raises NOT_FOUND where it does not exist."""
        return await count_chunks(self._calls, self._statements, key)

    async def publish(self, key: IndexKey) -> None:
        """Check that the generation exists; raises NOT_FOUND."""
        await self.count(key)

    async def generations(self, tenant: str, corpus: str) -> tuple[str, ...]:
        """Generations of a corpus that exist, sorted."""
        rows = await self._calls.read(
            f"MATCH (n:{self._statements.index}) WHERE n.tenant = $tenant AND n.corpus = $corpus"
            " RETURN n.generation AS generation",
            {"tenant": tenant, "corpus": corpus},
            _CALL_S,
        )
        return tuple(sorted(row["generation"] for row in rows))

    async def open(self, card: CorpusCard) -> SearchEngine:
        """The engine of the card's generation; raises NOT_FOUND where it does not exist, CONFIG where it is too old."""
        key = _key(card)
        await self.count(key)
        made = f"MATCH (n:{self._statements.index} {{key: $scope}}) RETURN n.format AS format"
        formats = [row["format"] for row in await self._calls.read(made, owner_of(key), _CALL_S)]
        if formats != [_FORMAT]:
            raise SearchError(
                FailureKind.CONFIG, "the generation was written by another version: index the corpus again"
            )
        if self._full_text is None:
            self._full_text = await self._has_full_text()
        engine = Neo4jEngine(self._calls, self._statements, key, full_text=self._full_text)
        await engine.warm()
        return engine

    async def texts(self, card: CorpusCard, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """The chunks of the card's generation that exist, in any order."""
        rows = await self._calls.read(
            f"UNWIND $ids AS wanted MATCH (c:{self._statements.chunk} {{key: $scope + wanted}})"
            " WHERE c.tenant = $tenant AND c.corpus = $corpus AND c.generation = $generation"
            " RETURN c.chunk_id AS chunk_id, c.text AS text, c.source AS source",
            {**owner_of(_key(card)), "ids": list(dict.fromkeys(chunk_ids))},
            _CALL_S,
        )
        return [ChunkText(chunk_id=row["chunk_id"], text=row["text"], source=row["source"]) for row in rows]

    async def health(self) -> None:
        """Return if the server answers and lets this user read."""
        await self._calls.read(f"MATCH (n:{self._statements.index}) RETURN n.key AS key LIMIT 1", {}, _CALL_S)

    async def close(self) -> None:
        """Close the client. Twice is no error."""
        await self._calls.close()


def _key(card: CorpusCard) -> IndexKey:
    if card.generation is None:
        raise SearchError(FailureKind.NOT_FOUND, f"corpus {card.corpus!r} has no index here")
    return IndexKey(card.tenant, card.corpus, card.generation)
