"""Writes generations to Neo4j: chunks, entities, mentions and relations, each once however often it is sent.

In: batches of chunks. Out: what was written, in one transaction per batch. A relation counts the chunks that state it,
so that it goes with the last of them. The order in which an entity's relations are read is `neo4j_ranks`.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import neo4j

from fanfuse_backend_workers.adapters.neo4j_filters import properties_of
from fanfuse_backend_workers.adapters.neo4j_statements import Statements
from fanfuse_backend_workers.domain.analysis_names import last_name
from fanfuse_backend_workers.domain.graph_names import graph_names
from fanfuse_backend_workers.domain.graph_words import roots_of, words_of
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind

_BETWEEN: Final = "\x1f"
Row = dict[str, Any]


def scope_of(key: IndexKey) -> str:
    """What the keys of a generation's nodes begin with; no token holds a slash."""
    return f"{key.tenant}/{key.corpus}/{key.generation}/"


def owner_of(key: IndexKey) -> Row:
    """The parameters that every statement has."""
    return {**key._asdict(), "scope": scope_of(key)}


def place_of(key: IndexKey) -> str:
    """One word for the full-text index that only this generation's names have."""
    return "x" + hashlib.sha256(scope_of(key).encode()).hexdigest()[:24]


class BatchWriter:
    """Writes one batch; used once, but may run again when the server asks for it."""

    def __init__(self, statements: Statements, key: IndexKey, chunks: Sequence[Chunk]) -> None:
        self._labels = statements
        self._owner = owner_of(key)
        self._place = place_of(key)
        self._chunks = {chunk.chunk_id: chunk for chunk in chunks}
        self._names = {chunk.chunk_id: graph_names(chunk) for chunk in self._chunks.values()}

    async def upsert(self, transaction: neo4j.AsyncManagedTransaction) -> None:
        """Replace these chunks and what they brought into the graph. Raises NOT_FOUND without the generation."""
        await require(transaction, self._labels, self._owner)
        before = await self._stated(transaction, list(self._chunks))
        await self._run(transaction, f"UNWIND $rows AS row MERGE (c:{self._labels.chunk} {{key: $scope + row.chunk_id}})"
                        " SET c = row.properties, c.key = $scope + row.chunk_id", self._chunk_rows())  # fmt: skip
        await self._forget_mentions(transaction)
        await self._run(transaction, f"UNWIND $rows AS row MERGE (e:{self._labels.entity} {{key: $scope + row.name}})"
                        " ON CREATE SET e += row.properties", self._entity_rows())  # fmt: skip
        await self._run(transaction, f"UNWIND $rows AS row MATCH (c:{self._labels.chunk} {{key: $scope + row.chunk_id}})"
                        f" MATCH (e:{self._labels.entity} {{key: $scope + row.name}})"
                        " CREATE (c)-[:MENTIONS {about: row.about, rank: 0}]->(e)", self._mention_rows())  # fmt: skip
        after = Counter(relation for names in self._names.values() for relation in names.relations)
        await self._count(transaction, after, before)
        words = sorted({root for _, name, _ in after for root in roots_of(name)})
        await self._run(transaction, f"UNWIND $rows AS row MERGE (n:{self._labels.word} {{key: $scope + row.word}})"
                        " ON CREATE SET n += row.properties",
                        [{"word": word, "properties": self._owned()} for word in words])  # fmt: skip

    async def delete(self, transaction: neo4j.AsyncManagedTransaction, chunk_ids: Sequence[str]) -> int:
        """Delete chunks and what only they stated; returns how many there were."""
        before = await self._stated(transaction, chunk_ids)
        await self._count(transaction, Counter(), before)
        rows = await self._run(transaction, f"UNWIND $rows AS row MATCH (c:{self._labels.chunk} {{key: $scope + row.chunk_id}})"
                               " DETACH DELETE c RETURN count(*) AS deleted",
                               [{"chunk_id": one} for one in dict.fromkeys(chunk_ids)])  # fmt: skip
        return int(rows[0]["deleted"]) if rows else 0

    async def _stated(self, transaction: neo4j.AsyncManagedTransaction, ids: Sequence[str]) -> Counter[tuple[str, ...]]:
        rows = await self._run(transaction, f"UNWIND $rows AS row MATCH (c:{self._labels.chunk} {{key: $scope + row.chunk_id}})"
                               " RETURN c.relations AS relations",
                               [{"chunk_id": one} for one in dict.fromkeys(ids)])  # fmt: skip
        return Counter(tuple(one.split(_BETWEEN)) for row in rows for one in row["relations"] or ())

    async def _forget_mentions(self, transaction: neo4j.AsyncManagedTransaction) -> None:
        await self._run(transaction, f"UNWIND $rows AS row MATCH (c:{self._labels.chunk} {{key: $scope + row.chunk_id}})"
                        "-[m:MENTIONS]->() DELETE m", [{"chunk_id": one} for one in self._chunks])  # fmt: skip

    async def _count(
        self, transaction: neo4j.AsyncManagedTransaction, after: Counter[Any], before: Counter[tuple[str, ...]]
    ) -> None:
        """Relations stated more, or less, often than before; one that nobody states any more is deleted."""
        changes = {relation: after[relation] - before[relation] for relation in after.keys() | before.keys()}
        rows = [
            {"subject": subject, "name": name, "object": target, "change": change}
            for (subject, name, target), change in sorted(changes.items())
            if change
        ]
        matched = (
            f"UNWIND $rows AS row MATCH (s:{self._labels.entity} {{key: $scope + row.subject}})"
            f" MATCH (o:{self._labels.entity} {{key: $scope + row.object}})"
        )
        await self._run(transaction, f"{matched} MERGE (s)-[r:RELATED {{name: row.name}}]->(o)"
                        " ON CREATE SET r.stated = row.change, r.subject_rank = 0, r.object_rank = 0"
                        " ON MATCH SET r.stated = r.stated + row.change",
                        [row for row in rows if row["change"] > 0])  # fmt: skip
        less = [row for row in rows if row["change"] < 0]
        await self._run(transaction, f"{matched} MATCH (s)-[r:RELATED {{name: row.name}}]->(o)"
                        " SET r.stated = r.stated + row.change", less)  # fmt: skip
        await self._run(transaction, f"{matched} MATCH (s)-[r:RELATED {{name: row.name}}]->(o)"
                        " WHERE r.stated <= 0 DELETE r", less)  # fmt: skip

    def _owned(self) -> Row:
        return dict(self._owner)

    def _chunk_rows(self) -> list[Row]:
        return [
            {
                "chunk_id": chunk.chunk_id,
                "properties": {
                    **self._owner,
                    "chunk_id": chunk.chunk_id,
                    "content_hash": chunk.content_hash,
                    "title": chunk.title,
                    "text": chunk.text,
                    "source": chunk.source,
                    "names": len(self._names[chunk.chunk_id].keys),
                    "relations": [_BETWEEN.join(one) for one in sorted(self._names[chunk.chunk_id].relations)],
                    **properties_of(chunk.metadata),
                },
            }
            for chunk in self._chunks.values()
        ]

    def _entity_rows(self) -> list[Row]:
        names = sorted({key for names in self._names.values() for key in names.keys})
        return [
            {
                "name": name,
                "properties": {
                    **self._owner,
                    "name": name,
                    "scoped_last_name": self._owner["scope"] + last_name(name),
                    "words": " ".join(words_of(name)),
                    "place": self._place,
                    "mentions": 0,
                    "outgoing": 0,
                    "incoming": 0,
                },
            }
            for name in names
        ]

    def _mention_rows(self) -> list[Row]:
        return [
            {"chunk_id": chunk_id, "name": key, "about": key == names.title}
            for chunk_id, names in self._names.items()
            for key in names.keys
        ]

    async def _run(self, transaction: neo4j.AsyncManagedTransaction, statement: str, rows: list[Row]) -> list[Any]:
        if not rows:
            return []
        result = await transaction.run(statement, {**self._owner, "rows": rows})  # type: ignore[arg-type]
        return [record async for record in result]


async def require(transaction: neo4j.AsyncManagedTransaction, statements: Statements, owner: Row) -> None:
    """Raise NOT_FOUND where the generation was never made."""
    result = await transaction.run(
        f"MATCH (n:{statements.index} {{key: $scope}}) RETURN n.key AS key",  # type: ignore[arg-type]
        owner,
    )
    if await result.single() is None:
        raise SearchError(FailureKind.NOT_FOUND, "there is no such generation on the server: make it first")
