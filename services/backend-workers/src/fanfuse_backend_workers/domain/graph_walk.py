"""The walk that every graph engine runs: from the seeds over relations to the chunks, and how they are ranked.

A generator: it yields asks, is sent their rows, and returns hits and the bounds that cut them. It knows no engine and
no clock: where `OutOfTime` is thrown into it on the way it ends with what it has reached, elsewhere it lets it pass.
The same rows in any order give the same hits. The ranking, and why it is so, is ADR 0010.
"""

import math
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Final

from fanfuse_backend_workers.domain.graph_asks import Ask, Entity, Find, OutOfTime, Row, Rows, fair_share
from fanfuse_backend_workers.domain.graph_bounds import (
    ENTITIES,
    FILTERED_ROWS,
    FRONTIER,
    MENTION_ROWS,
    ONE,
    STEP_ROWS,
    LeftOut,
)
from fanfuse_backend_workers.domain.graph_chunks import mentions_to_read, note_unread, ranked_chunks
from fanfuse_backend_workers.domain.graph_paths import AskedPath
from fanfuse_backend_workers.domain.graph_question import Question, asked_path
from fanfuse_backend_workers.domain.graph_seeds import Place, Seeds, find_seeds
from fanfuse_backend_workers.domain.graph_words import shared_roots
from fanfuse_backend_workers.ports import EngineHit, EngineResult

HOP_FINDS: Final = (Find.RELATIONS,)
"""Asks without whose rows the walk goes on."""
HOPS: Final = 3
"""Relations followed from a seed."""
STEP: Final = 0.7
"""Part of a weight that one relation carries on: near before far."""

Asking = Generator[Ask, Rows, EngineResult]
Trail = tuple[int, int]
"""Number of the seed it begins at, asked words used up."""
State = tuple[int, str, Trail]
"""Weight, negated, so that the heaviest comes first and ties go by key; entity; trail."""
Bundle = tuple[str, int, list[str]]
"""Relations of one name and direction of an entity: the name, how many there are, the other ends of those read."""


def walk(seeds: Sequence[str], text: str, window: int, *, filtered: bool) -> Asking:
    """Hits of one search, best first, at most `window`; `cut` names the bounds that may have kept one out.

    `filtered`: not all chunks that are asked for will come.
    """
    question = Question(text)
    found = yield from find_seeds(seeds, question)
    walking = _Walking(found)
    if found.groups:
        known = yield from walking.known_roots(question)
        walking.start(question, known)
        try:
            yield from walking.spread()
        except OutOfTime:
            walking.left_out.cut("time")
    return (yield from walking.hits(window, FILTERED_ROWS if filtered else MENTION_ROWS))


def score(weight: int) -> float:
    """Binary digits of a weight: every hop divides weights, so their logarithms compare as BM25 and cosines do."""
    return math.log2(1 + weight)


class _Walking:
    """One walk; used once."""

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds
        self._entities = {entity.key: entity for group, _ in seeds.groups for entity in group}
        self._rows: dict[str, Row] = {}
        self._paths: list[AskedPath] = []
        self._states: dict[Trail, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._weights: dict[str, int] = defaultdict(int)
        self.left_out = LeftOut()
        if seeds.cut:
            self.left_out.cut("seed matches")

    def known_roots(self, question: Question) -> Generator[Ask, Rows, frozenset[str]]:
        """Asked roots that relations of this graph are named by."""
        if not any(entity.outgoing or entity.incoming for entity in self._entities.values()):
            return frozenset()
        asked = {shared for one in question.asked_roots(None) for shared in shared_roots(one)}
        rows = (yield Ask(Find.RELATION_WORDS, tuple(sorted(asked)))) if asked else ()
        return frozenset(wanted for (wanted,) in rows)

    def start(self, question: Question, known: frozenset[str]) -> None:
        """Every seed weighs the same, whatever number of entities it stands for."""
        by_place: dict[Place | None, AskedPath] = {}
        for number, (group, place) in enumerate(self._seeds.groups):
            if place not in by_place:
                by_place[place] = AskedPath(asked_path(question.asked_roots(place), known))
            self._paths.append(by_place[place])
            for entity in group:
                weight = ONE // (len(self._seeds.groups) * len(group))
                self._states[number, 0][entity.key] += weight
                self._weights[entity.key] += weight

    def spread(self) -> Generator[Ask, Rows, None]:
        """Carry the weights over the relations, hop by hop."""
        for _ in range(HOPS):
            states = self._heaviest_states()
            degrees = {key: degrees for _, key, _ in states if max(degrees := self._entity(key)[-2:])}
            if not degrees:
                return
            most = fair_share((one for both in degrees.values() for one in both), STEP_ROWS)
            rows = yield Ask(Find.RELATIONS, tuple(degrees), tuple(min(most, max(both)) for both in degrees.values()))
            self._states = self._carried(states, self._bundles(rows))
            for (seed, used), found in self._states.items():
                part = self._paths[seed].complete(used)
                for key, weight in found.items():
                    self._weights[key] += int(weight * part)

    def _heaviest_states(self) -> list[State]:
        every = ((-weight, key, trail) for trail, found in self._states.items() for key, weight in found.items())
        states = nsmallest(FRONTIER + 1, every)
        if len(states) > FRONTIER:
            self.left_out.note("frontier", int(-states.pop()[0] * STEP))
        return states

    def _entity(self, key: str) -> Entity:
        """Of the thousands that are reached few are looked at."""
        if key not in self._entities:
            self._entities[key] = Entity._make(self._rows[key][4:])
        return self._entities[key]

    def _bundles(self, rows: Rows) -> dict[str, list[Bundle]]:
        """Relations by entity; they carry alike, so each bundle is looked at once."""
        bundles: dict[tuple[str, bool, str], Bundle] = {}
        by_parent: dict[str, list[Bundle]] = defaultdict(list)
        self._rows.update((row[4], row) for row in rows)
        for parent, forward, relation, alike, key, *_ in rows:
            bundle = bundles.get((parent, forward, relation))
            if bundle is None:
                bundle = bundles[parent, forward, relation] = (relation, alike, [])
                by_parent[parent].append(bundle)
            bundle[2].append(key)
        return by_parent

    def _carried(self, states: Iterable[State], bundles: Mapping[str, Sequence[Bundle]]) -> dict[Trail, dict[str, int]]:
        """A relation that an entity has many of says little about each."""
        given: dict[Trail, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for weight, key, (seed, used) in states:
            found = bundles.get(key, ())
            if sum(alike for _, alike, _ in found) < sum(self._entities[key][-2:]):
                self.left_out.note("fan-out", int(-weight * STEP))  # more names than were read
            for relation, alike, targets in found:
                now, part = self._paths[seed].after(used, relation)
                carried = int(-weight * STEP * part / math.sqrt(alike))
                if len(targets) < alike:
                    self.left_out.note("fan-out", carried)
                into = given[seed, now]
                for target in targets:
                    into[target] += carried
        return given

    def hits(self, window: int, mention_rows: int) -> Generator[Ask, Rows, EngineResult]:
        """The chunks that mention what was reached."""
        most = max(ENTITIES, window)
        heaviest = nsmallest(most + 1, ((-weight, key) for key, weight in self._weights.items()))
        if len(heaviest) > most:
            self.left_out.note("entities", -heaviest.pop()[0])
        entities = [self._entity(key) for _, key in heaviest]
        ask = mentions_to_read(entities, self._weights, mention_rows)
        rows = (yield ask) if ask.keys else ()
        note_unread(ask, rows, entities, self._weights, self.left_out)
        best = ranked_chunks(rows, self._entities, self._weights, window)
        told = (yield Ask(Find.CHUNKS, tuple(chunk_id for chunk_id, _ in best))) if best else ()
        texts = {chunk_id: (content_hash, title) for chunk_id, content_hash, title in told}
        hits = (EngineHit(one, score(weight), *texts[one]) for one, weight in best if one in texts)
        return EngineResult(tuple(hits), cut=self.left_out.cuts(best[-1][1] if len(best) == window else 0))
