"""Every Cypher statement of the Neo4j adapter.

In: the namespace of the installation. Out: statements. Labels are the namespace (one token, checked) and constants of
this file; everything a caller or a document wrote is a parameter. Tenant, corpus and generation are checked on every
node of every path.
"""

import re
from typing import Any, Final

from fanfuse_backend_workers.adapters.neo4j_filters import predicate
from fanfuse_backend_workers.domain.graph_asks import ROWS, Ask, Entity, Find
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import Filter

_NAMESPACE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_OWNED: Final = "{0}.tenant = $tenant AND {0}.corpus = $corpus AND {0}.generation = $generation"
_ENTITY: Final = ", ".join(["{0}.name AS key", *(f"{{0}}.{column} AS {column}" for column in Entity._fields[1:])])
_E, _N, _C = (_OWNED.format(node) for node in "enc")


class Statements:
    """The statements of one namespace."""

    def __init__(self, namespace: str) -> None:
        if not _NAMESPACE.fullmatch(namespace):
            raise SearchError(FailureKind.CONFIG, "the namespace must be one token: a-z, 0-9, '_' and '-'")
        self._namespace = namespace
        self.chunk, self.entity, self.word, self.index = (
            f"`{namespace}_{kind}`" for kind in ("Chunk", "Entity", "RelationWord", "Index")
        )
        self.names = f"{namespace}_entity_words"

    def schema(self) -> list[str]:
        """Constraints and indexes that every server has to have."""
        labels = {"chunk": self.chunk, "entity": self.entity, "word": self.word, "index": self.index}
        unique = [
            f"CREATE CONSTRAINT `{self._namespace}_{kind}_key` IF NOT EXISTS FOR (n:{label}) REQUIRE n.key IS UNIQUE"
            for kind, label in labels.items()
        ]
        scoped = [
            f"CREATE INDEX `{self._namespace}_{kind}_scope` IF NOT EXISTS FOR (n:{labels[kind]}) ON (n.scope)"
            for kind in ("chunk", "entity", "word")
        ]
        return [*unique, *scoped, (
            f"CREATE INDEX `{self._namespace}_entity_last` IF NOT EXISTS FOR (n:{self.entity}) ON (n.scoped_last_name)"
        )]  # fmt: skip

    def full_text(self) -> str:
        """The index of the words of names, where the server can make one."""
        return (
            f"CREATE FULLTEXT INDEX `{self.names}` IF NOT EXISTS FOR (n:{self.entity}) ON EACH [n.words, n.place]"
            " OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-no-stop-words'}}"
        )

    def ask(self, ask: Ask, condition: Filter | None, *, full_text: bool) -> tuple[str, dict[str, Any]]:
        """Statement and parameters; `$scope`, `$tenant`, `$corpus`, `$generation` and `$place` are the caller's."""
        parameters: dict[str, Any] = {"keys": list(ask.keys), "rows": ROWS}
        match ask.find:
            case Find.KEYS:
                found = f"MATCH (e:{self.entity} {{key: $scope + wanted}}) WHERE {_E}"
                return f"UNWIND $keys AS wanted {found} RETURN wanted, {_ENTITY.format('e')} LIMIT $rows", parameters
            case Find.LAST_NAMES:
                found = f"MATCH (e:{self.entity} {{scoped_last_name: $scope + wanted}}) WHERE {_E}"
                ordered = "ORDER BY e.mentions DESC, e.name LIMIT $rows"
                return f"UNWIND $keys AS wanted {found} RETURN wanted, {_ENTITY.format('e')} {ordered}", parameters
            case Find.WORDS if full_text:
                return self._by_index(), {**parameters, "names": self.names, "query": lucene_query(ask.keys)}
            case Find.WORDS:
                found = (
                    f"MATCH (e:{self.entity} {{scope: $scope}}) WHERE {_E} AND all(w IN $keys WHERE e.name CONTAINS w)"
                )
                return f"{found} RETURN {_ENTITY.format('e')} ORDER BY size(e.name), e.name LIMIT $rows", parameters
            case Find.RELATION_WORDS:
                found = f"MATCH (n:{self.word} {{key: $scope + wanted}}) WHERE {_N}"
                return f"UNWIND $keys AS wanted {found} RETURN wanted LIMIT $rows", parameters
            case Find.RELATIONS:
                return self._relations(), {"pairs": _pairs(ask), "rows": ROWS}
            case Find.MENTIONS:
                parameters = {"pairs": _pairs(ask), "rows": ROWS}
                text = "true" if condition is None else predicate(condition, parameters)
                return self._mentioning(text), parameters
            case Find.CHUNKS:
                found = f"MATCH (c:{self.chunk} {{key: $scope + wanted}}) WHERE {_C}"
                told = "c.chunk_id AS chunk_id, c.content_hash AS content_hash, c.title AS title"
                return f"UNWIND $keys AS wanted {found} RETURN {told} LIMIT $rows", parameters

    def _by_index(self) -> str:
        return (
            "CALL db.index.fulltext.queryNodes($names, $place_query + $query, {limit: $rows}) YIELD node AS e"
            f" WITH e WHERE {_E} RETURN {_ENTITY.format('e')} ORDER BY size(e.name), e.name LIMIT $rows"
        )

    def _relations(self) -> str:
        """Both directions in one round trip."""
        return f"{self._step('-[r:RELATED]->', 'subject')} UNION ALL {self._step('<-[r:RELATED]-', 'object')}"

    def _step(self, arrow: str, end: str) -> str:
        forward = "true" if end == "subject" else "false"
        return (
            "UNWIND $pairs AS pair WITH pair[0] AS parent, pair[1] AS most"
            f" MATCH (e:{self.entity} {{key: $scope + parent}}){arrow}(n:{self.entity})"
            f" WHERE {_E} AND {_N} AND r.{end}_rank <= most"
            f" RETURN parent, {forward} AS forward, r.name AS relation, r.{end}_alike AS alike, {_ENTITY.format('n')}"
            " LIMIT $rows"
        )

    def _mentioning(self, condition: str) -> str:
        return (
            "UNWIND $pairs AS pair WITH pair[0] AS wanted, pair[1] AS most"
            f" MATCH (e:{self.entity} {{key: $scope + wanted}})<-[m:MENTIONS]-(c:{self.chunk})"
            f" WHERE {_E} AND {_C} AND m.rank <= most AND {condition}"
            " RETURN wanted, m.about AS about, c.names AS names, c.chunk_id AS chunk_id LIMIT $rows"
        )


def _pairs(ask: Ask) -> list[list[str | int]]:
    """Each key with how many of its edges are read."""
    return [[key, most] for key, most in zip(ask.keys, ask.most, strict=True)]


def lucene_query(words: tuple[str, ...]) -> str:
    """All words must stand in the field `words`; each is a quoted phrase, so that none is read as syntax."""
    return " ".join(f"+words:{lucene_phrase(word)}" for word in words)


def lucene_phrase(text: str) -> str:
    """Lucene reads nothing but the quote and the backslash within quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
