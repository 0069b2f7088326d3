"""Figures of everything that made a list: lanes, fusion policies, the answer of the flow, runs of others.

In: records or runs with judgements. Out: values per question and their means with paired intervals. Pure.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from fanfuse_contracts.fusion import FusionApplied, FusionConfig
from fanfuse_evaluation.lane_lists import AnsweredHit, AskedQuery, LaneList
from fanfuse_evaluation.measures import MEASURES, Grades, Values, measured
from fanfuse_evaluation.offline import Places, differences, document_list, fused_again

Ranking = Callable[[AskedQuery], Sequence[AnsweredHit]]


class Role(StrEnum):
    """What made a list."""

    LANE = "lane"
    ANSWER = "answer"
    POLICY = "policy"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Ranked:
    """The lists of one maker, one per question: documents, best first."""

    name: str
    role: Role
    lists: tuple[Sequence[str], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """One maker's values per question, by measure."""

    name: str
    role: Role
    values: Mapping[str, Values]


@dataclass(frozen=True)
class CollectionFigures:
    """One collection. The first row that is no lane is what every other is compared with."""

    name: str
    grades: tuple[Grades, ...]
    queries: tuple[str, ...]
    ranked: tuple[Ranked, ...]
    statuses: Mapping[str, int]
    lost: Mapping[str, int]
    places: Places | None = None
    """The answers against the same lists fused again; None where there are no answers."""

    @cached_property
    def rows(self) -> tuple[Judged, ...]:
        """Everything measured."""
        return tuple(Judged(one.name, one.role, measured(MEASURES, self.grades, one.lists)) for one in self.ranked)

    def row(self, name: str) -> Judged | None:
        """One row by name."""
        return next((row for row in self.rows if row.name == name), None)


def figures_of(records: Sequence[AskedQuery], policies: Sequence[FusionConfig] = ()) -> list[CollectionFigures]:
    """Figures by collection, in the order of the records."""
    by_name: dict[str, list[AskedQuery]] = {}
    for record in records:
        by_name.setdefault(record.collection, []).append(record)
    return [_collection(name, asked, policies) for name, asked in by_name.items()]


def _collection(name: str, asked: Sequence[AskedQuery], policies: Sequence[FusionConfig]) -> CollectionFigures:
    rankings: list[tuple[str, Role, Ranking]] = [
        *_lanes(asked),
        (answer_name(asked), Role.ANSWER, lambda one: one.answer),
    ]
    rankings += [(policy_name(FusionApplied.of(config)), Role.POLICY, _policy(config)) for config in policies]
    found = [differences(one) for one in asked]
    return CollectionFigures(
        name=name,
        grades=tuple(one.grades for one in asked),
        queries=tuple(one.query_id for one in asked),
        ranked=tuple(
            Ranked(title, role, tuple(document_list(one, ranking(one)) for one in asked))
            for title, role, ranking in rankings
        ),
        statuses=Counter(one.status.value for one in asked),
        lost=Counter(what for one in asked for what in one.lost),
        places=Places(*map(sum, zip(*found, strict=True))),
    )


def answer_name(asked: Sequence[AskedQuery]) -> str:
    """The policy that the answers name, or all of them where they differ."""
    names = sorted({policy_name(one.fusion) for one in asked if one.fusion is not None})
    return f"answer ({' or '.join(names) or 'nothing fused'})"


def policy_name(applied: FusionApplied) -> str:
    """A policy with its parameters, as a row is called."""
    seats = f", {applied.reserved_seats} seat{'s' * (applied.reserved_seats != 1)}"
    return f"{applied.policy.value}{'' if applied.k is None else f', k {applied.k}'}{seats}"


def _policy(config: FusionConfig) -> Ranking:
    return lambda one: fused_again(one, config)


def _lanes(asked: Sequence[AskedQuery]) -> Iterator[tuple[str, Role, Ranking]]:
    """A row per backend. Where the router selected several corpora its first list counts: that of the best corpus."""
    names = dict.fromkeys(_backend(one) for record in asked for one in record.lists)
    for name in sorted(names):
        yield name, Role.LANE, _lane(name)


def _lane(name: str) -> Ranking:
    def of(asked: AskedQuery) -> Sequence[AnsweredHit]:
        found = next((one for one in asked.lists if _backend(one) == name), None)
        return () if found is None else _hits(found)

    return of


def _hits(found: LaneList) -> list[AnsweredHit]:
    return [
        AnsweredHit(corpus=hit.corpus or found.lane.corpus, chunk_id=hit.chunk_id, score=hit.score)
        for hit in sorted(found.hits, key=lambda hit: hit.rank)
    ]


def _backend(one: LaneList) -> str:
    return f"{one.lane.kind.value}/{one.lane.backend}"
