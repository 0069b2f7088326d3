"""Every Cypher statement of the graph engine, in Neo4j's dialect.

Labels, relation types and property names are the constants of this file; property names of filter fields are numbers
of our own. Everything a caller or a document wrote is a parameter. Tenant and corpus are checked on every node.
"""

from typing import Any, Final

from fanfuse_backend_workers.adapters.filter_values import AllOf, AnyOf, Condition, HasField, HasValue, Negation
from fanfuse_backend_workers.domain.graph_asks import ROWS, Ask, Find

INDEXES: Final = (
    "CREATE INDEX FOR (e:Entity) ON (e.key)",
    "CREATE INDEX FOR (e:Entity) ON (e.last_name)",
    "CREATE INDEX FOR (w:RelationWord) ON (w.key)",
    "CREATE INDEX FOR (c:Chunk) ON (c.chunk_id)",
)
CREATE_CHUNKS: Final = """UNWIND $rows AS row
CREATE (c:Chunk {chunk_id: row.chunk_id, content_hash: row.content_hash, title: row.title,
                 names: row.names, tenant: $tenant, corpus: $corpus})
SET c += row.values"""
CREATE_ENTITIES: Final = """UNWIND $rows AS row
CREATE (e:Entity {key: row.key, last_name: row.last_name, mentions: row.mentions,
                  outgoing: row.outgoing, incoming: row.incoming,
                  tenant: $tenant, corpus: $corpus})"""
CREATE_MENTIONS: Final = """UNWIND $rows AS row
MATCH (c:Chunk {chunk_id: row.chunk_id}) MATCH (e:Entity {key: row.key})
CREATE (c)-[:MENTIONS {rank: row.rank, about: row.about}]->(e)"""
CREATE_RELATIONS: Final = """UNWIND $rows AS row
MATCH (s:Entity {key: row.subject}) MATCH (o:Entity {key: row.object})
CREATE (s)-[:RELATED {name: row.name, subject_rank: row.subject_rank, object_rank: row.object_rank}]->(o)"""
"""The relation's name is a property, so that no name from a document is ever part of a statement."""
CREATE_RELATION_WORDS: Final = """UNWIND $rows AS row
CREATE (w:RelationWord {key: row.key, tenant: $tenant, corpus: $corpus})"""

COUNT_CHUNKS: Final = "MATCH (c:Chunk) RETURN count(c) AS chunks"
_ENTITY: Final = "{0}.key AS key, {0}.mentions AS mentions, {0}.outgoing AS outgoing, {0}.incoming AS incoming"
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
_STEP: Final = f"""UNWIND $keys AS parent
MATCH (e:Entity {{{{key: parent}}}}){{arrow}}(n:Entity)
WHERE e.tenant = $tenant AND e.corpus = $corpus AND n.tenant = $tenant AND n.corpus = $corpus
  AND r.{{rank}} <= $most
RETURN parent, r.name AS relation, {_ENTITY.format("n")} LIMIT $rows"""
STEP_TO_OBJECTS: Final = _STEP.format(arrow="-[r:RELATED]->", rank="subject_rank")
STEP_TO_SUBJECTS: Final = _STEP.format(arrow="<-[r:RELATED]-", rank="object_rank")
_MENTIONING: Final = """UNWIND $keys AS wanted
MATCH (e:Entity {{key: wanted}})<-[m:MENTIONS]-(c:Chunk)
WHERE e.tenant = $tenant AND e.corpus = $corpus AND c.tenant = $tenant AND c.corpus = $corpus
  AND m.rank <= $most AND {condition}
RETURN wanted, m.about AS about, c.names AS names, c.chunk_id AS chunk_id, c.content_hash AS content_hash,
  c.title AS title LIMIT $rows"""


def statement(ask: Ask, condition: Condition | None = None) -> tuple[str, dict[str, Any]]:
    """Statement and parameters of one ask; chunks are those for which `condition` holds."""
    parameters: dict[str, Any] = {"keys": list(ask.keys), "rows": ROWS}
    match ask.find:
        case Find.KEYS:
            return FIND_KEYS, parameters
        case Find.LAST_NAMES:
            return FIND_LAST_NAMES, parameters
        case Find.WORDS:
            return FIND_WORDS, parameters
        case Find.RELATION_WORDS:
            return FIND_RELATION_WORDS, parameters
        case Find.TO_OBJECTS:
            return STEP_TO_OBJECTS, {**parameters, "most": ask.most}
        case Find.TO_SUBJECTS:
            return STEP_TO_SUBJECTS, {**parameters, "most": ask.most}
        case Find.MENTIONS:
            text = "true" if condition is None else _predicate(condition, parameters)
            return _MENTIONING.format(condition=text), {**parameters, "most": ask.most}


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
