"""Every Cypher statement of the graph engine, in Neo4j's dialect: names of entities, chunks, filters.

Labels and property names are the constants of this file; property names of filter fields are numbers
of our own. Everything a caller or a document wrote is a parameter. Tenant and corpus are checked on every node.
"""

from collections.abc import Iterable
from typing import Any, Final

from fanfuse_backend_workers.adapters.distinct_values import Runs
from fanfuse_backend_workers.adapters.filter_values import AllOf, AnyOf, Condition, HasField, HasValue, Negation
from fanfuse_backend_workers.domain.graph_asks import ROWS, Ask, Entity, Find

INDEXES: Final = (
    "CREATE INDEX FOR (e:Entity) ON (e.key)",
    "CREATE INDEX FOR (e:Entity) ON (e.last_name)",
    "CREATE INDEX FOR (w:RelationWord) ON (w.key)",
    "CREATE INDEX FOR (c:Chunk) ON (c.chunk_id)",
)
CREATE_CHUNKS: Final = """UNWIND $rows AS row
CREATE (c:Chunk {chunk_id: row.chunk_id, content_hash: row.content_hash, title: row.title,
                 tenant: $tenant, corpus: $corpus})
SET c += row.values"""
CREATE_ENTITIES: Final = """UNWIND $rows AS row
CREATE (e:Entity {key: row.key, last_name: row.last_name, mentions: row.mentions, bearers: row.bearers,
                  outgoing: row.outgoing, incoming: row.incoming,
                  tenant: $tenant, corpus: $corpus})"""
CREATE_RELATION_WORDS: Final = """UNWIND $rows AS row
CREATE (w:RelationWord {key: row.key, tenant: $tenant, corpus: $corpus})"""

COUNT_CHUNKS: Final = "MATCH (c:Chunk) RETURN count(c) AS chunks"
_ENTITY: Final = ", ".join(f"{{0}}.{column} AS {column}" for column in Entity._fields)
FIND_KEYS: Final = f"""UNWIND $keys AS wanted
MATCH (e:Entity {{key: wanted}}) WHERE e.tenant = $tenant AND e.corpus = $corpus
RETURN wanted, {_ENTITY.format("e")} LIMIT $rows"""
FIND_LAST_NAMES: Final = f"""UNWIND $keys AS wanted
MATCH (e:Entity {{last_name: wanted}}) WHERE e.tenant = $tenant AND e.corpus = $corpus
RETURN wanted, {_ENTITY.format("e")}
ORDER BY e.mentions DESC, e.key LIMIT $rows"""
FIND_WORDS: Final = f"""MATCH (e:Entity) WHERE e.tenant = $tenant AND e.corpus = $corpus
  AND all(word IN $keys WHERE e.key CONTAINS word)
RETURN {_ENTITY.format("e")}
ORDER BY size(e.key), e.key LIMIT $rows"""
FIND_RELATION_WORDS: Final = """UNWIND $keys AS wanted
MATCH (w:RelationWord {key: wanted}) WHERE w.tenant = $tenant AND w.corpus = $corpus
RETURN wanted LIMIT $rows"""
_CHUNKS: Final = """UNWIND $keys AS wanted
MATCH (c:Chunk {{chunk_id: wanted}}) WHERE c.tenant = $tenant AND c.corpus = $corpus AND {condition}
RETURN wanted AS chunk_id, c.content_hash AS content_hash, c.title AS title LIMIT $rows"""
_NODES: Final = {
    Find.KEYS: FIND_KEYS,
    Find.LAST_NAMES: FIND_LAST_NAMES,
    Find.WORDS: FIND_WORDS,
    Find.RELATION_WORDS: FIND_RELATION_WORDS,
    Find.CHUNKS: _CHUNKS.format(condition="true"),
}


def statement(ask: Ask) -> tuple[str, dict[str, Any]]:
    """Statement and parameters of an ask for nodes; edges are in arrays (`kglite_edges`)."""
    return _NODES[ask.find], {"keys": list(ask.keys), "rows": ROWS}


def allowed(chunk_ids: Iterable[str], condition: Condition) -> tuple[str, dict[str, Any]]:
    """Statement and parameters that find those of the chunks for which `condition` holds."""
    parameters: dict[str, Any] = {"keys": list(chunk_ids), "rows": ROWS}
    return _CHUNKS.format(condition=_predicate(condition, parameters)), parameters


def value_property(field: int) -> str:
    """Property of a chunk that holds the number of its value in a field."""
    return f"v{field:d}"


def _predicate(condition: Condition, parameters: dict[str, Any]) -> str:
    match condition:
        case HasField(field):
            return f"c.{value_property(field)} IS NOT NULL"
        case HasValue(field, runs):
            return f"({_in_runs(f'c.{value_property(field)}', runs, parameters)})"
        case Negation(part):
            return f"(NOT {_predicate(part, parameters)})"
        case AllOf(parts):
            return f"({' AND '.join(_predicate(part, parameters) for part in parts) or 'true'})"
        case AnyOf(parts):
            return f"({' OR '.join(_predicate(part, parameters) for part in parts) or 'false'})"


def _in_runs(value: str, runs: Runs, parameters: dict[str, Any]) -> str:
    """One run is compared; a list is looked through for every chunk."""
    number = len(parameters)
    if len(runs) == 1:
        parameters[f"start{number:d}"], parameters[f"stop{number:d}"] = runs[0]
        return f"{value} IS NOT NULL AND {value} >= $start{number:d} AND {value} < $stop{number:d}"
    parameters[f"values{number:d}"] = [number for run in runs for number in range(*run)]
    return f"{value} IS NOT NULL AND {value} IN $values{number:d}"
