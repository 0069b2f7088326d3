"""What a walk asks a graph for, and what the graph answers: the only words between the walk and an engine.

A walk is a generator that yields an ask and is sent its rows. An engine runs each ask as one bounded statement in one
tenant, corpus and generation, and never decides anything. A row is a tuple in the order of `COLUMNS`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple


class Find(StrEnum):
    """How entities are looked up."""

    KEYS = "keys"
    """Entities whose key is one of `keys`."""
    LAST_NAMES = "last_names"
    """Entities whose last name is one of `keys`; most mentioned first, then by key."""
    WORDS = "words"
    """Entities whose key holds every one of `keys` somewhere; shortest key first."""
    RELATION_WORDS = "relation_words"
    """Which of `keys` are roots of words of relation names."""
    RELATIONS = "relations"
    """Relations of the entities `keys`, in each direction the first `most` of each entity: whether the `parent` is the
    subject, how many of the same name and direction it has in all, and the entity at the other end."""
    MENTIONS = "mentions"
    """Chunks that mention `keys`, the first `most` of each, less those that the filter keeps out: whether the chunk
    bears the entity's name, and how many entities it mentions."""
    CHUNKS = "chunks"
    """The chunks `keys`."""


class OutOfTime(Exception):
    """Thrown into a walk at an ask whose rows did not come in time."""


ROWS: Final = 10_000
"""Most rows of one ask. An engine puts it into every statement."""


class Entity(NamedTuple):
    """An entity, the chunks that mention it, those of them that bear its name, the relations from it and to it."""

    key: str
    mentions: int
    bearers: int
    outgoing: int
    incoming: int


COLUMNS: Final[Mapping[Find, tuple[str, ...]]] = MappingProxyType(
    {
        Find.KEYS: ("wanted", *Entity._fields),
        Find.LAST_NAMES: ("wanted", *Entity._fields),
        Find.WORDS: Entity._fields,
        Find.RELATION_WORDS: ("wanted",),
        Find.RELATIONS: ("parent", "forward", "relation", "alike", *Entity._fields),
        Find.MENTIONS: ("wanted", "about", "names", "chunk_id"),
        Find.CHUNKS: ("chunk_id", "content_hash", "title"),
    }
)
"""What the rows of an ask hold, in this order."""

Row = tuple[Any, ...]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Ask:
    """One bounded question to the graph; `most` has one number per key where a find speaks of it."""

    find: Find
    keys: tuple[str, ...]
    most: tuple[int, ...] = ()


def fair_share(degrees: Iterable[int], rows: int) -> int:
    """The largest n with Σ min(degree, n) ≤ rows: a hub gets what the others leave. At least 1."""
    left = rows
    waiting = sorted(degrees)
    for place, degree in enumerate(waiting):
        share = left // (len(waiting) - place)
        if degree > share:
            return max(share, 1)
        left -= degree
    return max(waiting[-1], 1) if waiting else 1
