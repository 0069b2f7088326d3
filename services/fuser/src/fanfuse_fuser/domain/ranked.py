"""The ranked list of one lane as fusion reads it: a lane and its hits in, columns out.

Read once, when the reply comes: when the last one is here, nothing but votes, sums and a sort is left to do. Never
knows a policy.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fanfuse_contracts.fusion import MAX_RESERVED_SEATS
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.policies import Scale


class Column(NamedTuple):
    """Hits of one corpus, item by item; each chunk once, at its best rank."""

    chunk_ids: Sequence[str]
    ranks: Sequence[int]
    scores: Sequence[float]
    hits: Sequence[LaneHit]
    places: Mapping[str, int]
    """By chunk id: where it stands in the column."""


class RankedList:
    """The hits of one lane, in any order: only their ranks and scores count."""

    __slots__ = ("columns", "firsts", "hits", "lane", "scale")

    def __init__(self, lane: Lane, hits: Sequence[LaneHit]) -> None:
        self.lane, self.hits = lane, hits
        found = _by_corpus(hits, lane.corpus) if lane.corpora else {lane.corpus: hits}
        self.columns: Mapping[str, Column] = {corpus: _column(each) for corpus, each in found.items()}
        """By the corpus whose chunks they are: one, but for a shared search."""
        self.scale = _scale(hits, self.columns.get(lane.corpus))
        """Of all hits, also those that name a chunk again."""
        self.firsts: Sequence[tuple[str, str, int]] = [
            (corpus, column.chunk_ids[at], rank)
            for corpus, column in self.columns.items()
            for at, rank in enumerate(column.ranks)
            if rank <= MAX_RESERVED_SEATS
        ]
        """Corpus, chunk id and rank of the hits that a reserved seat may lift."""


def _by_corpus(hits: Sequence[LaneHit], where_none_is_named: str) -> Mapping[str, Sequence[LaneHit]]:
    found: dict[str, list[LaneHit]] = {}
    for hit in hits:
        found.setdefault(hit.corpus or where_none_is_named, []).append(hit)
    return found


def _scale(hits: Sequence[LaneHit], column: Column | None) -> Scale:
    scores: Sequence[float]
    if column is not None and len(column.scores) == len(hits):
        scores = column.scores
    else:
        scores = [hit.score for hit in hits]
    return Scale(len(scores), min(scores, default=0.0), max(scores, default=0.0))


def _column(hits: Sequence[LaneHit]) -> Column:
    chunk_ids = [hit.chunk_id for hit in hits]
    places = dict(zip(chunk_ids, range(len(chunk_ids)), strict=True))
    if len(places) < len(chunk_ids):
        return _column(_each_once(hits))
    return Column(chunk_ids, [hit.rank for hit in hits], [hit.score for hit in hits], hits, places)


def _each_once(hits: Sequence[LaneHit]) -> Sequence[LaneHit]:
    """A lane votes once per chunk, at its best rank."""
    best: dict[str, LaneHit] = {}
    for hit in hits:
        if hit.rank < best.setdefault(hit.chunk_id, hit).rank:
            best[hit.chunk_id] = hit
    return list(best.values())
