"""Who mentions whom and what is related to what, of one corpus, in compact arrays beside the graph file.

In: names of chunks while indexing; entities and how many of their edges to read. Out: rows, in the order of
`domain.graph_ranks`. A hop reads thousands of edges: from arrays that costs a tenth of what a statement takes. Entities
and chunks are numbered in the order of their names; the file is of one tenant and corpus, and belongs to no other.
"""

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, count, repeat
from pathlib import Path
from typing import Any, Final, Self

from fanfuse_backend_workers.domain.graph_asks import Ask, Entity, Rows
from fanfuse_backend_workers.domain.graph_names import GraphNames, Relation
from fanfuse_backend_workers.domain.graph_ranks import ranked_mentions, ranked_relations
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

_DEGREES: Final = Entity._fields[1:]
_ENDS: Final = (("subject", "object"), ("object", "subject"))
_NUMBER: Final = "I"
Owner = Mapping[str, str]


class Edges:
    """Reads rows; never changes."""

    def __init__(self, names: Mapping[str, list[str]], numbers: Mapping[str, "array[int]"], owner: Owner) -> None:
        self._names = names
        self._numbers = numbers
        self._owner = owner
        self._places = {key: place for place, key in enumerate(names["entities"])}

    def relations(self, ask: Ask, owner: Owner) -> Rows:
        """Rows of `Find.RELATIONS`."""
        rows: list[tuple[Any, ...]] = []
        name, entity = self._names["relations"].__getitem__, self._names["entities"].__getitem__
        degrees = [self._numbers[column].__getitem__ for column in _DEGREES]
        for key, place, most in self._known(ask, owner):
            for near, far in _ENDS:
                part = self._slice(near, place, most)
                others = self._numbers[f"{near}_{far}"][part]
                columns = (
                    map(name, self._numbers[f"{near}_name"][part]),
                    self._numbers[f"{near}_alike"][part],
                    map(entity, others),
                    *(map(degree, others) for degree in degrees),
                )
                rows.extend(zip(repeat(key), repeat(near == "subject"), *columns, strict=False))
        return rows

    def mentions(self, ask: Ask, owner: Owner) -> Rows:
        """Rows of `Find.MENTIONS`, of all chunks."""
        rows: list[tuple[Any, ...]] = []
        chunk_id, names = self._names["chunks"].__getitem__, self._numbers["names"].__getitem__
        for key, place, most in self._known(ask, owner):
            chunks = self._numbers["mention_chunk"][self._slice("mention", place, most)]
            about = map(self._numbers["bearers"][place].__gt__, count())
            rows.extend(zip(repeat(key), about, map(names, chunks), map(chunk_id, chunks), strict=False))
        return rows

    def _known(self, ask: Ask, owner: Owner) -> Iterator[tuple[str, int, int]]:
        if owner == self._owner:
            yield from (
                (key, self._places[key], most)
                for key, most in zip(ask.keys, ask.most, strict=True)
                if key in self._places
            )

    def _slice(self, edges: str, place: int, most: int) -> slice:
        start, end = self._numbers[f"{edges}_start"][place : place + 2]
        return slice(start, min(start + most, end))

    def save(self, path: Path) -> None:
        """A line of names and sizes, then the numbers."""
        header = {
            "owner": dict(self._owner),
            "names": self._names,
            "sizes": {k: len(v) for k, v in self._numbers.items()},
        }
        with path.open("wb") as file:
            file.write(json.dumps(header).encode() + b"\n")
            for numbers in self._numbers.values():
                numbers.tofile(file)

    @classmethod
    def load(cls, path: Path, owner: Owner) -> Self:
        """Read a saved file; raises CONFIG where it is of another corpus or there is none."""
        numbers: dict[str, array[int]] = {}
        try:
            with path.open("rb") as file:
                header = json.loads(file.readline())
                for name, size in header["sizes"].items():
                    numbers[name] = array(_NUMBER)
                    numbers[name].fromfile(file, size)
        except (FileNotFoundError, EOFError, ValueError) as error:
            raise SearchError(FailureKind.CONFIG, "the graph index has no whole file of edges: index again") from error
        if header["owner"] != dict(owner):
            raise SearchError(FailureKind.CONFIG, "the graph index has the edges of another corpus: index again")
        return cls(header["names"], numbers, owner)


class EdgesWriter:
    """Collects what chunks bring into the graph."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._names: dict[str, int] = {}
        self._mentions: dict[str, list[tuple[bool, int, str]]] = defaultdict(list)
        self.relations: set[Relation] = set()

    def add(self, chunk_id: str, named: GraphNames) -> None:
        """One chunk."""
        self.relations |= named.relations
        self._names[chunk_id] = len(named.keys)
        for key in named.keys:
            self._mentions[key].append((key != named.title, len(named.keys), chunk_id))

    def entities(self) -> Iterator[dict[str, Any]]:
        """Entities with their degrees, in the order of their numbers."""
        outgoing = Counter(subject for subject, _, _ in self.relations)
        incoming = Counter(target for _, _, target in self.relations)
        for key in sorted(self._mentions):
            found = self._mentions[key]
            bearers = sum(not other for other, *_ in found)
            degrees = (len(found), bearers, outgoing[key], incoming[key])
            yield {"key": key, **dict(zip(_DEGREES, degrees, strict=True))}

    def edges(self) -> Edges:
        """All of it; `Edges.save` writes it."""
        entities = list(self.entities())
        names = {
            "entities": [row["key"] for row in entities],
            "relations": sorted({name for _, name, _ in self.relations}),
            "chunks": sorted(self._names),
        }
        places = {kind: {name: place for place, name in enumerate(found)} for kind, found in names.items()}
        numbers = {column: array(_NUMBER, (row[column] for row in entities)) for column in _DEGREES}
        numbers["names"] = array(_NUMBER, map(self._names.__getitem__, names["chunks"]))
        numbers["mention_start"] = _starts(row["mentions"] for row in entities)
        numbers["mention_chunk"] = array(
            _NUMBER,
            (
                places["chunks"][chunk_id]
                for key in names["entities"]
                for _, _, chunk_id in ranked_mentions(self._mentions[key])
            ),
        )
        numbers |= _relation_numbers(list(ranked_relations(self.relations)), entities, places)
        return Edges(names, numbers, self._owner)


def _relation_numbers(
    rows: Sequence[Mapping[str, Any]], entities: Sequence[Mapping[str, Any]], places: Mapping[str, Mapping[str, int]]
) -> dict[str, "array[int]"]:
    numbers = {}
    for (near, far), degree in zip(_ENDS, ("outgoing", "incoming"), strict=True):
        found = sorted(rows, key=lambda row: (row[near], row[f"{near}_rank"]))
        numbers[f"{near}_start"] = _starts(row[degree] for row in entities)
        numbers[f"{near}_{far}"] = array(_NUMBER, (places["entities"][row[far]] for row in found))
        numbers[f"{near}_name"] = array(_NUMBER, (places["relations"][row["name"]] for row in found))
        numbers[f"{near}_alike"] = array(_NUMBER, (row[f"{near}_alike"] for row in found))
    return numbers


def _starts(degrees: Iterable[int]) -> "array[int]":
    return array(_NUMBER, accumulate(degrees, initial=0))
