"""The walk that every graph engine runs: from the seeds over relations to the chunks, and how they are ranked.

A generator: it yields asks, is sent their rows, and returns hits and the bounds it met. It knows no engine and no
clock: where `OutOfTime` is thrown into it on the way it ends with what it has reached, elsewhere it lets it pass. The
same rows in any order give the same hits. The ranking, and why it is so, is ADR 0010.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fanfuse_backend_workers.domain.graph_asks import Ask, Entity, Find, OutOfTime, Rows, fair_share
from fanfuse_backend_workers.domain.graph_question import Question, RelationMatcher, asked_path
from fanfuse_backend_workers.domain.graph_seeds import Place, Seeds, find_seeds
from fanfuse_backend_workers.domain.graph_words import shared_roots
from fanfuse_backend_workers.ports import EngineHit, EngineResult

HOP_FINDS: Final = (Find.TO_OBJECTS, Find.TO_SUBJECTS)
"""Asks without whose rows the walk goes on."""
HOPS: Final = 3
"""Relations followed from a seed."""
STEP: Final = 0.7
"""Part of a weight that one relation carries on: near before far."""
UNASKED: Final = 0.1
"""Part of that where the question does not ask for the relation, but asks for others."""
SKIPPED: Final = 0.5
"""Part of that per asked word that is passed over."""
MENTIONED: Final = 0.3
"""Part of an entity's weight for a chunk that mentions it but does not bear its name."""
STEP_ROWS: Final = 5_000
"""Relations read per hop."""
FRONTIER: Final = 400
"""States kept per hop, heaviest first."""
MENTION_ROWS: Final = 5_000
"""Mentions read."""
ENTITIES: Final = 500
"""Entities whose chunks are read, heaviest first."""

Asking = Generator[Ask, Rows, EngineResult]
State = tuple[str, int, int]
"""Entity, number of the seed it was reached from, asked words used up."""


def walk(seeds: Sequence[str], text: str, window: int) -> Asking:
    """Hits of one search, best first, at most `window`; `cut` names the bounds that were met."""
    question = Question(text)
    found = yield from find_seeds(seeds, question)
    walking = _Walking(found)
    if found.groups:
        known = yield from walking.known_roots(question)
        walking.start(question, known)
        try:
            yield from walking.spread()
        except OutOfTime:
            walking.cuts.add("time")
    hits = yield from walking.hits()
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
    return EngineResult(tuple(ordered[:window]), cut=", ".join(sorted(walking.cuts)) or None)


@dataclass(slots=True)
class _Path:
    """The asked words as seen from one seed."""

    words: tuple[str, ...]
    matcher: RelationMatcher

    def after(self, used: int, relation: str) -> tuple[int, float]:
        """Words used up after following a relation, and the part of the weight that is carried on."""
        if not self.words:
            return 0, 1.0
        asked = self.matcher.steps(relation)
        if used and asked[used - 1]:
            return used, 1.0
        for place in range(used, len(asked)):
            if asked[place] and (part := SKIPPED ** (place - used)) > UNASKED:
                return place + 1, part
        return used, UNASKED

    def complete(self, used: int) -> float:
        """How much of what was asked is answered."""
        return (1 + used) / (1 + len(self.words))


class _Walking:
    """One walk; used once."""

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds
        self._entities = {entity.key: entity for group, _ in seeds.groups for entity in group}
        self._paths: list[_Path] = []
        self._states: dict[State, float] = {}
        self._weights: dict[str, list[float]] = defaultdict(list)
        self.cuts: set[str] = {"seed matches"} if seeds.cut else set()

    def known_roots(self, question: Question) -> Generator[Ask, Rows, frozenset[str]]:
        """Asked roots that relations of this graph are named by."""
        if not any(entity.outgoing or entity.incoming for entity in self._entities.values()):
            return frozenset()
        asked = {shared for one in question.asked_roots(None) for shared in shared_roots(one)}
        rows = (yield Ask(Find.RELATION_WORDS, tuple(sorted(asked)))) if asked else ()
        return frozenset(row["wanted"] for row in rows)

    def start(self, question: Question, known: frozenset[str]) -> None:
        """Every seed weighs the same, whatever number of entities it stands for."""
        by_place: dict[Place | None, _Path] = {}
        for number, (group, place) in enumerate(self._seeds.groups):
            if place not in by_place:
                words = asked_path(question.asked_roots(place), known)
                by_place[place] = _Path(words, RelationMatcher(words))
            self._paths.append(by_place[place])
            for entity in group:
                weight = 1.0 / (len(self._seeds.groups) * len(group))
                self._states[entity.key, number, 0] = weight
                self._weights[entity.key].append(weight)

    def spread(self) -> Generator[Ask, Rows, None]:
        """Carry the weights over the relations, hop by hop."""
        for _ in range(HOPS):
            states, self._states = self._heaviest_states(), {}
            keys = tuple(dict.fromkeys(key for key, _, _ in states))
            entities = [self._entities[key] for key in keys]
            degrees = [degree for entity in entities for degree in (entity.outgoing, entity.incoming)]
            most = fair_share(degrees, STEP_ROWS)
            leaving = tuple(entity.key for entity in entities if entity.outgoing)
            arriving = tuple(entity.key for entity in entities if entity.incoming)
            self._cut("fan-out", max(degrees, default=0) > most)
            given: dict[State, list[float]] = defaultdict(list)
            for find, near in ((Find.TO_OBJECTS, leaving), (Find.TO_SUBJECTS, arriving)):
                rows = (yield Ask(find, near, most)) if near else ()
                self._carry(states, rows, given)
            self._states = {state: math.fsum(parts) for state, parts in given.items()}
            for (key, seed, used), weight in self._states.items():
                self._weights[key].append(weight * self._paths[seed].complete(used))

    def _heaviest_states(self) -> dict[State, float]:
        ordered = sorted(self._states.items(), key=lambda item: (-item[1], item[0]))
        self._cut("frontier", len(ordered) > FRONTIER)
        return dict(ordered[:FRONTIER])

    def _carry(self, states: dict[State, float], rows: Rows, given: dict[State, list[float]]) -> None:
        """A relation that many edges of an entity have says little about each."""
        edges: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in rows:
            self._entities.setdefault(row["key"], Entity.of(row))
            edges[row["parent"]].append((row["relation"], row["key"]))
        alike = {parent: Counter(relation for relation, _ in found) for parent, found in edges.items()}
        for (key, seed, used), weight in states.items():
            path = self._paths[seed]
            for relation, target in edges.get(key, ()):
                now, part = path.after(used, relation)
                given[target, seed, now].append(weight * STEP * part / math.sqrt(alike[key][relation]))

    def hits(self) -> Generator[Ask, Rows, list[EngineHit]]:
        """The chunks that mention what was reached."""
        weights = {key: math.fsum(parts) for key, parts in self._weights.items()}
        keys = tuple(sorted(weights, key=lambda key: (-weights[key], key)))
        self._cut("entities", len(keys) > ENTITIES)
        keys = keys[:ENTITIES]
        degrees = [self._entities[key].mentions for key in keys]
        most = fair_share(degrees, MENTION_ROWS)
        self._cut("mentions", max(degrees, default=0) > most)
        rows = (yield Ask(Find.MENTIONS, keys, most)) if keys else ()
        return list(_ranked(rows, weights, self._entities))

    def _cut(self, bound: str, met: bool) -> None:
        if met:
            self.cuts.add(bound)


def _ranked(rows: Rows, weights: dict[str, float], entities: dict[str, Entity]) -> Iterator[EngineHit]:
    """A chunk that bears an entity's name has all of its weight; one of many that mention it, among others, little."""
    parts: dict[str, list[float]] = defaultdict(list)
    chunks = {row["chunk_id"]: row for row in rows}
    for row in rows:
        crowd = max(entities[row["wanted"]].mentions * row["names"], 1)
        share = 1.0 if row["about"] else MENTIONED / math.sqrt(crowd)
        parts[row["chunk_id"]].append(weights[row["wanted"]] * share)
    for chunk_id, row in chunks.items():
        score = math.fsum(parts[chunk_id])
        yield EngineHit(chunk_id, score, row["content_hash"], row["title"])
