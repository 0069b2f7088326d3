"""Writes generations to Neo4j: chunks, entities, mentions and relations, each once however often it is sent.

In: batches of chunks. Out: what was written, in one transaction per batch. A relation counts the chunks that state it,
so that it goes with the last of them. The order in which an entity's relations are read is `neo4j_ranks`.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import neo4j

from fanfuse_backend_workers.adapters.neo4j_filters import properties_of
from fanfuse_backend_workers.adapters.neo4j_statements import Statements
from fanfuse_backend_workers.domain.analysis_names import last_name
from fanfuse_backend_workers.domain.graph_names import Relation, graph_names
from fanfuse_backend_workers.domain.graph_ranks import RANKS
from fanfuse_backend_workers.domain.graph_words import roots_of, words_of
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind

_BETWEEN: Final = "\x1f"
Row = dict[str, Any]
Transaction = neo4j.AsyncManagedTransaction


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
        self._chunk = f"(c:{statements.chunk} {{key: $scope + row.chunk_id}})"
        self._entity = f"(e:{statements.entity} {{key: $scope + row.name}})"

    async def upsert(self, transaction: Transaction) -> None:
        """Replace these chunks and what they brought into the graph. Raises NOT_FOUND without the generation."""
        await require(transaction, self._labels, self._owner)
        ids = _ids(self._chunks)
        before = await self._stated(transaction, ids)
        replace = f"MERGE {self._chunk} SET c = row.properties, c.key = $scope + row.chunk_id"
        await self._run(transaction, replace, self._chunk_rows())
        await self._run(transaction, f"MATCH {self._chunk}-[m:MENTIONS]->() DELETE m", ids)
        await self._run(transaction, f"MERGE {self._entity} ON CREATE SET e += row.properties", self._entity_rows())
        mention = f"MATCH {self._chunk} MATCH {self._entity} CREATE (c)-[:MENTIONS {{about: row.about, rank: 0}}]->(e)"
        await self._run(transaction, mention, self._mention_rows())
        after = Counter(relation for names in self._names.values() for relation in names.relations)
        await self._count(transaction, after, before)
        words = sorted({root for _, name, _ in after for root in roots_of(name)})
        know = f"MERGE (n:{self._labels.word} {{key: $scope + row.word}}) ON CREATE SET n += row.properties"
        await self._run(transaction, know, [{"word": word, "properties": self._owner} for word in words])

    async def delete(self, transaction: Transaction, chunk_ids: Sequence[str]) -> int:
        """Delete chunks and what only they stated; returns how many there were."""
        ids = _ids(chunk_ids)
        await self._count(transaction, Counter(), await self._stated(transaction, ids))
        drop = f"MATCH {self._chunk} DETACH DELETE c RETURN count(*) AS deleted"
        rows = await self._run(transaction, drop, ids)
        return int(rows[0]["deleted"]) if rows else 0

    async def _stated(self, transaction: Transaction, ids: list[Row]) -> Counter[Relation]:
        rows = await self._run(transaction, f"MATCH {self._chunk} RETURN c.relations AS relations", ids)
        return Counter(_relation(one) for row in rows for one in row["relations"] or ())

    async def _count(self, transaction: Transaction, after: Counter[Relation], before: Counter[Relation]) -> None:
        """Relations stated more, or less, often than before; one that nobody states any more is deleted."""
        changes = {relation: after[relation] - before[relation] for relation in sorted(after.keys() | before.keys())}
        label = self._labels.entity
        ends = f"MATCH (s:{label} {{key: $scope + row.subject}}) MATCH (o:{label} {{key: $scope + row.object}})"
        relation = "(s)-[r:RELATED {name: row.name}]->(o)"
        made = "ON CREATE SET r.stated = row.change, " + ", ".join(f"r.{column} = 0" for column in RANKS)
        again = "SET r.stated = r.stated + row.change"
        less = _changed(changes, -1)
        await self._run(transaction, f"{ends} MERGE {relation} {made} ON MATCH {again}", _changed(changes, 1))
        await self._run(transaction, f"{ends} MATCH {relation} {again}", less)
        await self._run(transaction, f"{ends} MATCH {relation} WHERE r.stated <= 0 DELETE r", less)

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
                    "bearers": 0,
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

    async def _run(self, transaction: Transaction, statement: str, rows: list[Row]) -> list[neo4j.Record]:
        if not rows:
            return []
        result = await transaction.run(f"UNWIND $rows AS row {statement}", {**self._owner, "rows": rows})
        return [record async for record in result]


def _ids(chunk_ids: Iterable[str]) -> list[Row]:
    return [{"chunk_id": one} for one in dict.fromkeys(chunk_ids)]


def _relation(stored: str) -> Relation:
    subject, name, target = stored.split(_BETWEEN)
    return subject, name, target


def _changed(changes: Mapping[Relation, int], sign: int) -> list[Row]:
    return [
        {"subject": subject, "name": name, "object": target, "change": change}
        for (subject, name, target), change in changes.items()
        if change * sign > 0
    ]


async def require(transaction: Transaction, statements: Statements, owner: Row) -> None:
    """Raise NOT_FOUND where the generation was never made."""
    result = await transaction.run(f"MATCH (n:{statements.index} {{key: $scope}}) RETURN n.key AS key", owner)
    if await result.single() is None:
        raise SearchError(FailureKind.NOT_FOUND, "there is no such generation on the server: make it first")
