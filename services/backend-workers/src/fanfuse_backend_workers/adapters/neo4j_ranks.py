"""Ranks what a generation holds, once it is complete: degrees of entities, order of their relations and mentions.

In: a generation as written. Out: degrees and ranks on it, equal to those of the embedded engine. What already has its
rank is left alone, so doing it twice costs one reading.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from fanfuse_backend_workers.adapters.neo4j_calls import Neo4jCalls
from fanfuse_backend_workers.adapters.neo4j_statements import Statements
from fanfuse_backend_workers.domain.graph_asks import Entity
from fanfuse_backend_workers.domain.graph_ranks import RANKS, ranked_mentions, ranked_relations

_READ_S: Final = 120.0
_BATCH: Final = 2_000
_DEGREES: Final = Entity._fields[1:]
Row = dict[str, Any]


async def rank_generation(calls: Neo4jCalls, statements: Statements, owner: Row) -> None:
    """Delete entities that nobody mentions, then write degrees and ranks."""
    entity, chunk = statements.entity, statements.chunk
    mentions = await calls.read(
        f"MATCH (c:{chunk} {{scope: $scope}})-[m:MENTIONS]->(e:{entity} {{scope: $scope}})"
        " RETURN e.name AS name, c.chunk_id AS chunk_id, c.names AS names, m.about AS about, m.rank AS rank",
        owner, _READ_S
    )  # fmt: skip
    relations = await calls.read(
        f"MATCH (s:{entity} {{scope: $scope}})-[r:RELATED]->(o:{entity} {{scope: $scope}})"
        f" RETURN s.name AS subject, r.name AS name, o.name AS object, {_columns('r', RANKS)}", owner, _READ_S
    )  # fmt: skip
    entities = await calls.read(
        f"MATCH (e:{entity} {{scope: $scope}}) RETURN e.name AS name, {_columns('e', _DEGREES)}", owner, _READ_S
    )
    mentioned = {row["name"] for row in mentions}
    orphans = [{"name": row["name"]} for row in entities if row["name"] not in mentioned]
    matched = f"UNWIND $rows AS row MATCH (e:{entity} {{key: $scope + row.name}})"
    await _write(calls, f"{matched} DETACH DELETE e", owner, orphans)
    await _write(calls, f"{matched} SET e += row.degrees", owner, _degrees(entities, mentions, relations))
    await _write(calls, f"UNWIND $rows AS row MATCH (s:{entity} {{key: $scope + row.subject}})"
                 f"-[r:RELATED {{name: row.name}}]->(o:{entity} {{key: $scope + row.object}}) SET r += row.ranks",
                 owner, _relation_ranks(relations))  # fmt: skip
    await _write(calls, f"UNWIND $rows AS row MATCH (c:{chunk} {{key: $scope + row.chunk_id}})"
                 f"-[m:MENTIONS]->(e:{entity} {{key: $scope + row.name}}) SET m.rank = row.rank",
                 owner, _mention_ranks(mentions))  # fmt: skip


def _columns(variable: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{variable}.{column} AS {column}" for column in columns)


def _degrees(entities: Sequence[Any], mentions: Sequence[Any], relations: Sequence[Any]) -> list[Row]:
    counts = (
        Counter(row["name"] for row in mentions),
        Counter(row["name"] for row in mentions if row["about"]),
        Counter(row["subject"] for row in relations),
        Counter(row["object"] for row in relations),
    )
    found = []
    for row in entities:
        degrees = {column: count[row["name"]] for column, count in zip(_DEGREES, counts, strict=True)}
        if degrees["mentions"] and any(row[column] != degree for column, degree in degrees.items()):
            found.append({"name": row["name"], "degrees": degrees})
    return found


def _relation_ranks(relations: Sequence[Any]) -> list[Row]:
    had = {(row["subject"], row["name"], row["object"]): {rank: row[rank] for rank in RANKS} for row in relations}
    found = []
    for row in ranked_relations(had):
        ranks = {rank: row[rank] for rank in RANKS}
        if had[row["subject"], row["name"], row["object"]] != ranks:
            found.append({**{end: row[end] for end in ("subject", "name", "object")}, "ranks": ranks})
    return found


def _mention_ranks(mentions: Sequence[Any]) -> list[Row]:
    had = {(row["name"], row["chunk_id"]): row["rank"] for row in mentions}
    by_name: dict[str, list[tuple[bool, int, str]]] = defaultdict(list)
    for row in mentions:
        by_name[row["name"]].append((not row["about"], row["names"], row["chunk_id"]))
    return [
        {"name": name, "chunk_id": chunk_id, "rank": rank}
        for name, chunks in by_name.items()
        for rank, _, chunk_id in ranked_mentions(chunks)
        if had[name, chunk_id] != rank
    ]


async def _write(calls: Neo4jCalls, statement: str, owner: Row, rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), _BATCH):
        await calls.run(statement, {**owner, "rows": rows[start : start + _BATCH]}, _READ_S)
