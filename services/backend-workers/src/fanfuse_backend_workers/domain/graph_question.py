"""What a question asks of relations, seen from one of its entities.

In: the text, the seed, the roots that relation names know. Out: a path of asked roots, nearest to the seed first: in
"who wrote the films that X directed" it is direct, then write. It never reads the graph.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from fanfuse_backend_workers.domain.analysis_names import entity_key
from fanfuse_backend_workers.domain.graph_words import is_small, root, roots_of, same_root, shared_roots, words_of

MAX_WORDS: Final = 200
"""Words of a question that are read."""
_EDGES: Final = "?,.!;:\"'()[]«»“”‘’"


@dataclass(frozen=True)
class Question:
    """A text, cut at blanks."""

    text: str
    words: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.text.split()[:MAX_WORDS]))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Each word as a name would be stored."""
        return tuple(entity_key(_bare(word)) for word in self.words)

    def place_of(self, name: str) -> tuple[int, int] | None:
        """First and last but one word of a name in the text; None where it does not stand there."""
        wanted = tuple(entity_key(_bare(word)) for word in name.split())
        if not wanted:
            return None
        starts = range(len(self.keys) - len(wanted) + 1)
        return next(((at, at + len(wanted)) for at in starts if self.keys[at : at + len(wanted)] == wanted), None)

    def span(self, start: int, end: int) -> Iterator[str]:
        """The keys that words `start` to `end` may stand for: as written, without punctuation, without `'s`."""
        written = " ".join(self.words[start:end])
        bare = _bare(written)
        yield from dict.fromkeys(entity_key(name) for name in (written, bare, _singular(bare)))

    def asked_roots(self, place: tuple[int, int] | None) -> tuple[str, ...]:
        """Roots of the words outside `place`, nearest first; of two as near, the one before it."""
        start, end = place or (0, 0)
        distances = {at: start - at if at < start else at - end + 1 for at in range(len(self.words))}
        outside = sorted((at for at in distances if not start <= at < end), key=lambda at: (distances[at], at))
        return tuple(root(word) for at in outside for word in words_of(_singular(self.words[at])) if not is_small(word))


def asked_path(asked: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The asked roots that some relation's name knows."""
    return tuple(one for one in asked if any(shared in known for shared in shared_roots(one)))


class RelationMatcher:
    """Which steps of a path each relation is; every name is read once."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = path
        self._seen: dict[str, tuple[bool, ...]] = {}

    def steps(self, relation: str) -> tuple[bool, ...]:
        """For each asked root, whether the relation's name has it."""
        if relation not in self._seen:
            named = roots_of(relation)
            self._seen[relation] = tuple(any(same_root(one, name) for name in named) for one in self._path)
        return self._seen[relation]


def _bare(name: str) -> str:
    return name.strip(_EDGES) or name


def _singular(name: str) -> str:
    return name.removesuffix("'s").removesuffix("’s")
