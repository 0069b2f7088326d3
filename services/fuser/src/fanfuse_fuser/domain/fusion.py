"""Weighted reciprocal rank fusion: ranked lists in, one totally ordered list with every vote out.

Never looks at an engine's own score, never sums over corpora, and does not depend on the order of arrival.
"""

from collections.abc import Iterable, Sequence
from math import fsum
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.answer import Contribution
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit


class RankedList(NamedTuple):
    """The hits of one lane, in any order: only their ranks count."""

    lane: Lane
    hits: Sequence[LaneHit]


class Vote(NamedTuple):
    """What one lane says for a chunk: `value == lane.weight / (k + hit.rank)`."""

    lane: Lane
    hit: LaneHit
    value: float


class Fused(NamedTuple):
    """One chunk of the fused list. Fields stand in the total order, so a plain sort of these tuples is that order."""

    minus_score: float
    best_rank: int
    best_lane: int
    """Position in the plan of the first lane that gave the best rank."""
    chunk_id: str
    corpus: str
    votes: list[Vote]
    """One per lane that has the chunk, in the plan's order."""

    @property
    def score(self) -> float:
        """`math.fsum` of the votes' values."""
        return -self.minus_score

    @property
    def title(self) -> str:
        """The first title a lane gives, in the plan's order."""
        return next((vote.hit.title for vote in self.votes if vote.hit.title), "")

    @property
    def content_hash(self) -> str:
        """The hash of the first lane, in the plan's order."""
        return self.votes[0].hit.content_hash


def fuse(lists: Sequence[RankedList], k: int = limits.RRF_K) -> list[Fused]:
    """Every chunk with `score = Σ weight / (k + rank)`, best first.

    `lists` stand in the order of the plan. A lane votes once per chunk, at its best rank; the identity of a chunk is
    its corpus and chunk id. Order: score, best rank, lane order of the plan, chunk id. Source: Cormack, Clarke and
    Büttcher, "Reciprocal rank fusion outperforms Condorcet", SIGIR 2009. Raises `ValueError` unless k is an int > 0.
    """
    if type(k) is not int or k < 1:
        raise ValueError(f"k is {k!r}: reciprocal rank fusion takes an integer above zero")
    fused: list[Fused] = []
    for corpus, votes in _votes(lists, k).items():
        fused += [_fused(corpus, chunk_id, cast) for chunk_id, cast in votes.items()]
    fused.sort()
    return fused


def contributions(fused: Fused) -> tuple[Contribution, ...]:
    """The votes as they stand in an answer."""
    return tuple(
        Contribution(
            lane=lane.name, kind=lane.kind, backend=lane.backend, rank=hit.rank, weight=lane.weight, value=value
        )
        for lane, hit, value in fused.votes
    )


_Cast = list[tuple[int, Vote]]


def _votes(lists: Sequence[RankedList], k: int) -> dict[str, dict[str, _Cast]]:
    """Votes by corpus, then by chunk id, each with its lane's position in the plan."""
    by_corpus: dict[str, dict[str, _Cast]] = {}
    for position, (lane, hits) in enumerate(lists):
        votes = by_corpus.setdefault(lane.corpus, {})
        weight = lane.weight
        for chunk_id, hit in _best_of_each(hits).items():
            vote = (position, Vote(lane, hit, weight / (k + hit.rank)))
            cast = votes.get(chunk_id)
            if cast is None:
                votes[chunk_id] = [vote]
            else:
                cast.append(vote)
    return by_corpus


def _best_of_each(hits: Iterable[LaneHit]) -> dict[str, LaneHit]:
    best: dict[str, LaneHit] = {}
    for hit in hits:
        known = best.get(hit.chunk_id)
        if known is None or hit.rank < known.rank:
            best[hit.chunk_id] = hit
    return best


def _fused(corpus: str, chunk_id: str, cast: _Cast) -> Fused:
    if len(cast) == 1:
        position, vote = cast[0]
        return Fused(-vote.value, vote.hit.rank, position, chunk_id, corpus, [vote])
    votes = [vote for _, vote in cast]
    best_rank, best_lane = min((vote.hit.rank, position) for position, vote in cast)
    return Fused(-fsum([vote.value for vote in votes]), best_rank, best_lane, chunk_id, corpus, votes)
