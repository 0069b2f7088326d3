"""What a chunk brings into the graph: the names it mentions, the name it bears, its relations.

In: a chunk. Out: keys and relations between keys. A chunk mentions its entities, both ends of its triples and its
title. A name longer than any triple may hold is none: no index has to carry it.
"""

from dataclasses import dataclass
from typing import Final

from fanfuse_backend_workers.domain.analysis_names import entity_key
from fanfuse_contracts.chunks import Chunk

MAX_NAME_CHARS: Final = 512
Relation = tuple[str, str, str]
"""Key of the subject, name of the relation, key of the object."""


@dataclass(frozen=True, slots=True)
class GraphNames:
    """Of one chunk; `title` is empty where the chunk has none."""

    keys: tuple[str, ...]
    title: str
    relations: frozenset[Relation]


def graph_names(chunk: Chunk) -> GraphNames:
    """Keys sorted, without the blank one."""
    title = _key(chunk.title)
    relations = frozenset(
        (subject, triple.relation, target)
        for triple in chunk.triples
        if (subject := _key(triple.subject)) and (target := _key(triple.object))
    )
    ends = {end for triple in chunk.triples for end in (_key(triple.subject), _key(triple.object))}
    keys = {*map(_key, chunk.entities), *ends, title} - {""}
    return GraphNames(tuple(sorted(keys)), title, relations)


def _key(name: str) -> str:
    key = entity_key(name)
    return key if len(key) <= MAX_NAME_CHARS else ""
