"""Every Cypher statement of the graph engine, in Neo4j's dialect.

Labels, relation types and property names are the constants of this file; property names of filter fields are numbers
of our own. Everything a caller or a document wrote is a parameter. Tenant and corpus are checked on every node.
"""

from typing import Any, Final

from fanfuse_backend_workers.adapters.filter_values import AllOf, AnyOf, Condition, HasField, HasValue, Negation

INDEXES: Final = (
    "CREATE INDEX FOR (e:Entity) ON (e.key)",
    "CREATE INDEX FOR (e:Entity) ON (e.last_name)",
    "CREATE INDEX FOR (c:Chunk) ON (c.chunk_id)",
)
CREATE_CHUNKS: Final = """UNWIND $rows AS row
CREATE (c:Chunk {chunk_id: row.chunk_id, content_hash: row.content_hash, title: row.title,
                 tenant: $tenant, corpus: $corpus})
SET c += row.values"""
CREATE_ENTITIES: Final = """UNWIND $rows AS row
CREATE (e:Entity {key: row.key, last_name: row.last_name, mentions: row.mentions,
                  outgoing: row.outgoing, incoming: row.incoming,
                  tenant: $tenant, corpus: $corpus})"""
CREATE_MENTIONS: Final = """UNWIND $rows AS row
MATCH (c:Chunk {chunk_id: row.chunk_id}) MATCH (e:Entity {key: row.key})
CREATE (c)-[:MENTIONS {rank: row.rank}]->(e)"""
CREATE_RELATIONS: Final = """UNWIND $rows AS row
MATCH (s:Entity {key: row.subject}) MATCH (o:Entity {key: row.object})
CREATE (s)-[:RELATED {name: row.name, subject_rank: row.subject_rank, object_rank: row.object_rank}]->(o)"""
"""The relation's name is a property, so that no name from a document is ever part of a statement."""

COUNT_CHUNKS: Final = "MATCH (c:Chunk) RETURN count(c) AS chunks"
FIND_KEYS: Final = """UNWIND $keys AS wanted
MATCH (e:Entity {key: wanted}) WHERE e.tenant = $tenant AND e.corpus = $corpus
RETURN wanted, e.key AS key, e.mentions AS mentions, e.outgoing AS outgoing,
  e.incoming AS incoming LIMIT $rows"""
FIND_LAST_NAMES: Final = """UNWIND $keys AS wanted
MATCH (e:Entity {last_name: wanted}) WHERE e.tenant = $tenant AND e.corpus = $corpus
RETURN wanted, e.key AS key, e.mentions AS mentions, e.outgoing AS outgoing,
  e.incoming AS incoming
ORDER BY e.mentions DESC, e.key LIMIT $rows"""
STEP_TO_OBJECTS: Final = """UNWIND $keys AS parent
MATCH (e:Entity {key: parent})-[r:RELATED]->(n:Entity)
WHERE e.tenant = $tenant AND e.corpus = $corpus AND n.tenant = $tenant AND n.corpus = $corpus
  AND r.subject_rank <= $fan_out
RETURN DISTINCT parent, n.key AS key, n.mentions AS mentions, n.outgoing AS outgoing,
  n.incoming AS incoming LIMIT $rows"""
STEP_TO_SUBJECTS: Final = """UNWIND $keys AS parent
MATCH (e:Entity {key: parent})<-[r:RELATED]-(n:Entity)
WHERE e.tenant = $tenant AND e.corpus = $corpus AND n.tenant = $tenant AND n.corpus = $corpus
  AND r.object_rank <= $fan_out
RETURN DISTINCT parent, n.key AS key, n.mentions AS mentions, n.outgoing AS outgoing,
  n.incoming AS incoming LIMIT $rows"""
_MENTIONING: Final = """UNWIND $keys AS key
MATCH (e:Entity {{key: key}})<-[m:MENTIONS]-(c:Chunk)
WHERE e.tenant = $tenant AND e.corpus = $corpus AND c.tenant = $tenant AND c.corpus = $corpus
  AND m.rank <= $fan_out AND {condition}
RETURN key, c.chunk_id AS chunk_id, c.content_hash AS content_hash, c.title AS title LIMIT $rows"""


def mentioning(condition: Condition | None) -> tuple[str, dict[str, Any]]:
    """Statement and parameters: the chunks that mention `$keys` and for which `condition` holds."""
    parameters: dict[str, Any] = {}
    text = "true" if condition is None else _predicate(condition, parameters)
    return _MENTIONING.format(condition=text), parameters


def value_property(field: int) -> str:
    """Property of a chunk that holds the number of its value in a field."""
    return f"v{field:d}"


def _predicate(condition: Condition, parameters: dict[str, Any]) -> str:
    match condition:
        case HasField(field):
            return f"c.{value_property(field)} IS NOT NULL"
        case HasValue(field, values):
            name = f"values{len(parameters):d}"
            parameters[name] = list(values)
            return f"(c.{value_property(field)} IS NOT NULL AND c.{value_property(field)} IN ${name})"
        case Negation(part):
            return f"(NOT {_predicate(part, parameters)})"
        case AllOf(parts):
            return f"({' AND '.join(_predicate(part, parameters) for part in parts) or 'true'})"
        case AnyOf(parts):
            return f"({' OR '.join(_predicate(part, parameters) for part in parts) or 'false'})"
