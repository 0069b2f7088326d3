"""What a walk asks a graph for, and what the graph answers: the only words between the walk and an engine.

A walk is a generator that yields an ask and is sent its rows. An engine runs each ask as one bounded statement in one
tenant, corpus and generation, and never decides anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Find(StrEnum):
    """How entities are looked up."""

    KEYS = "keys"
    """Entities whose key is one of `keys`. Rows: `ENTITY`, `wanted`."""
    LAST_NAMES = "last_names"
    """Entities whose last name is one of `keys`. Rows: `ENTITY`, `wanted`; most mentioned first, then by key."""
    WORDS = "words"
    """Entities whose key holds every one of `keys` somewhere. Rows: `ENTITY`; shortest key first."""
    RELATION_WORDS = "relation_words"
    """Which of `keys` are roots of words of relation names. Rows: `wanted`."""
    TO_OBJECTS = "to_objects"
    """Objects of relations of the subjects `keys`, the first `most` of each. Rows: `ENTITY`, `parent`, `relation`."""
    TO_SUBJECTS = "to_subjects"
    """The same from objects to subjects."""
    MENTIONS = "mentions"
    """Chunks that mention `keys`, the first `most` of each. Rows: `wanted`, `chunk_id`, `content_hash`, `title`,
    `about` (the chunk bears the entity's name), `names` (how many it mentions)."""


class OutOfTime(Exception):
    """Thrown into a walk at an ask whose rows did not come in time."""


ENTITY = ("key", "mentions", "outgoing", "incoming")
"""Columns of a row that describes an entity: its key, chunks that mention it, relations from it and to it."""
ROWS = 10_000
"""Most rows of one ask. An engine puts it into every statement."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One bounded question to the graph."""

    find: Find
    keys: tuple[str, ...]
    most: int = ROWS


Row = Mapping[str, Any]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity and its degrees."""

    key: str
    mentions: int
    outgoing: int
    incoming: int

    @classmethod
    def of(cls, row: Row) -> "Entity":
        """From a row that has the columns of `ENTITY`."""
        return cls(row["key"], row["mentions"], row["outgoing"], row["incoming"])


def fair_share(degrees: Sequence[int], rows: int) -> int:
    """The largest n with Σ min(degree, n) ≤ rows: a hub gets what the others leave. At least 1."""
    left = rows
    waiting = sorted(degrees)
    for place, degree in enumerate(waiting):
        share = left // (len(waiting) - place)
        if degree > share:
            return max(share, 1)
        left -= degree
    return max(waiting[-1], 1) if waiting else 1
