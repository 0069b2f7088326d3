"""Weighted reciprocal rank fusion written a second time, from the formula alone, in exact fractions.

Imports nothing of Fanfuse. Other tests take it with `from tests.reference import rrf` (tests/ is importable by its path
from the root of the checkout). In: for each lane its corpus, weight and (chunk id, rank) pairs, in the order of the
plan. Out: one row per chunk, in the documented order: score, best rank, lane order, chunk id.

The formula is `score(d) = Σ weight / (k + rank)`. Every division is an exact fraction, rounded once to the nearest
double (a contribution); the contributions are summed as exact fractions and rounded once (the score). `exact` is the
same sum without any rounding.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class ReferenceLane(NamedTuple):
    corpus: str
    weight: float
    hits: Sequence[tuple[str, int]]


class ReferenceRow(NamedTuple):
    corpus: str
    chunk_id: str
    score: float
    values: tuple[float, ...]
    exact: Fraction


def contribution(weight: float, rank: int, k: int = 60) -> Fraction:
    return Fraction(weight) / (k + rank)


def best_ranks(hits: Sequence[tuple[str, int]]) -> dict[str, int]:
    return {chunk_id: min(rank for other, rank in hits if other == chunk_id) for chunk_id, _ in hits}


def fuse(lanes: Sequence[ReferenceLane], k: int = 60) -> list[ReferenceRow]:
    votes: dict[tuple[str, str], list[tuple[int, int, Fraction]]] = {}
    for position, lane in enumerate(lanes):
        for chunk_id, rank in best_ranks(lane.hits).items():
            vote = (rank, position, contribution(lane.weight, rank, k))
            votes.setdefault((lane.corpus, chunk_id), []).append(vote)
    rows = []
    for (corpus, chunk_id), cast in votes.items():
        values = tuple(float(value) for _, _, value in cast)
        score = float(sum(map(Fraction, values), Fraction(0)))
        exact = sum((value for _, _, value in cast), Fraction(0))
        best_rank, best_lane = min((rank, position) for rank, position, _ in cast)
        rows.append(((-score, best_rank, best_lane, chunk_id), ReferenceRow(corpus, chunk_id, score, values, exact)))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]
