"""Weighted fusion: ranked lists in, one totally ordered list with every vote out.

What a vote is worth is the policy's; never sums over corpora, and does not depend on the order of arrival. Works on
plain tuples; what is not on the page is never made into an object.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import fsum
from operator import itemgetter
from typing import NamedTuple, overload

from fanfuse_contracts.answer import Contribution
from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.copies import collapse
from fanfuse_fuser.domain.policies import Policy, build_policy
from fanfuse_fuser.domain.rows import Cast, Identity, Row, identity_of
from fanfuse_fuser.domain.seats import seated


class RankedList(NamedTuple):
    """The hits of one lane, in any order: only their ranks and scores count."""

    lane: Lane
    hits: Sequence[LaneHit]


class Vote(NamedTuple):
    """What one lane says for a chunk; `value` is the policy's."""

    lane: Lane
    hit: LaneHit
    value: float


class Fused(NamedTuple):
    """One hit of the fused list."""

    corpus: str
    chunk_id: str
    score: float
    """`math.fsum` of the votes' values, bit for bit."""
    votes: tuple[Vote, ...]
    """One per lane that has the chunk, in the plan's order."""
    copies: tuple["Fused", ...] = ()
    """The same content in other corpora, best first."""
    reserved_by: str | None = None
    """The lane whose seat lifted it."""

    @property
    def title(self) -> str:
        """The first title a lane gives, in the plan's order."""
        return next((vote.hit.title for vote in self.votes if vote.hit.title), "")

    @property
    def content_hash(self) -> str:
        """The hash of the first lane, in the plan's order."""
        return self.votes[0].hit.content_hash

    def contributions(self) -> tuple[Contribution, ...]:
        """The votes as they stand in an answer."""
        return tuple(
            Contribution(
                lane=lane.name,
                kind=lane.kind,
                backend=lane.backend,
                rank=hit.rank,
                weight=lane.weight,
                value=value,
                score=hit.score,
            )
            for lane, hit, value in self.votes
        )


class FusedList(Sequence[Fused]):
    """Every hit of a fusion, best first."""

    def __init__(
        self,
        rows: Sequence[Row],
        lanes: Sequence[Lane],
        copies: Mapping[Identity, Sequence[Row]],
        seats: Mapping[Identity, int],
    ) -> None:
        """`copies`: rows of equal content by the row they collapsed into. `seats`: position of the lane by the row
        that it lifted."""
        self._rows, self._lanes, self._copies, self._seats = rows, lanes, copies, seats

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Fused: ...
    @overload
    def __getitem__(self, index: slice) -> "FusedList": ...
    def __getitem__(self, index: int | slice) -> "Fused | FusedList":
        if isinstance(index, slice):
            return FusedList(self._rows[index], self._lanes, self._copies, self._seats)
        return self._fused(self._rows[index])

    def __iter__(self) -> Iterator[Fused]:
        return map(self._fused, self._rows)

    def _fused(self, row: Row) -> Fused:
        key = identity_of(row)
        fused = self._bare(row)
        if key in self._copies:
            fused = fused._replace(copies=tuple(map(self._bare, self._copies[key])))
        if key in self._seats:
            fused = fused._replace(reserved_by=self._lanes[self._seats[key]].name)
        return fused

    def _bare(self, row: Row) -> Fused:
        minus_score, _, _, chunk_id, corpus, cast = row
        votes = tuple(Vote(self._lanes[at], hit, value) for _, at, hit, value in cast)
        return Fused(corpus, chunk_id, -minus_score, votes)


DEFAULT = FusionConfig()
"""What an operator gets who states nothing."""


def fuse(lists: Sequence[RankedList], config: FusionConfig = DEFAULT) -> FusedList:
    """Every chunk with the sum of its votes, best first.

    `lists` stand in the order of the plan. A lane votes once per chunk, at its best rank; the identity of a chunk is
    its corpus and chunk id, where a hit of a shared search names the corpus itself. Order: score, best rank, lane order
    of the plan, chunk id. Then equal content of several corpora becomes one hit with the best one's score, and reserved
    seats are taken, as the configuration says. Source: docs/adr/0011-fusion-policy.md.
    """
    rows = ranked_rows(lists, build_policy(config))
    copies: Mapping[Identity, Sequence[Row]] = {}
    seats: Mapping[Identity, int] = {}
    if config.collapse and _of_several_corpora(lists):
        rows, copies = collapse(rows)
    if config.reserved_seats:
        rows, seats = seated(rows, copies, config.reserved_seats)
    return FusedList(rows, [lane for lane, _ in lists], copies, seats)


def _of_several_corpora(lists: Sequence[RankedList]) -> bool:
    return any(lane.corpora or lane.corpus != lists[0].lane.corpus for lane, _ in lists)


def ranked_rows(lists: Sequence[RankedList], policy: Policy) -> list[Row]:
    """Every chunk with its votes, best first, before copies and seats."""
    by_corpus = _votes(lists, policy)
    rows = [_row(corpus, chunk_id, cast) for corpus, votes in by_corpus.items() for chunk_id, cast in votes.items()]
    rows.sort()
    return rows


def _votes(lists: Sequence[RankedList], policy: Policy) -> dict[str, dict[str, Cast]]:
    """Votes by corpus, then by chunk id."""
    by_corpus: dict[str, dict[str, Cast]] = {}
    for position, corpus, valued in _by_corpus(lists, policy):
        votes = by_corpus.setdefault(corpus, {})
        for hit, value in valued:
            chunk_id, rank = hit.chunk_id, hit.rank
            cast = votes.get(chunk_id)
            if cast is None:
                votes[chunk_id] = [(rank, position, hit, value)]
            elif cast[-1][1] != position:
                cast.append((rank, position, hit, value))
            elif rank < cast[-1][0]:
                cast[-1] = (rank, position, hit, value)
    return by_corpus


_Valued = Iterable[tuple[LaneHit, float]]


def _by_corpus(lists: Sequence[RankedList], policy: Policy) -> Iterator[tuple[int, str, _Valued]]:
    """Position of the lane, corpus, hits with their values; a shared list once for each corpus that its hits name."""
    for position, (lane, hits) in enumerate(lists):
        valued = zip(hits, policy.values(lane.weight, hits), strict=True)
        if not lane.corpora:
            yield position, lane.corpus, valued
            continue
        named: dict[str, list[tuple[LaneHit, float]]] = {}
        for hit, value in valued:
            named.setdefault(hit.corpus or lane.corpus, []).append((hit, value))
        yield from zip(repeat(position), named, named.values())


_rank_of = itemgetter(0)
_value_of = itemgetter(3)


def _row(corpus: str, chunk_id: str, cast: Cast) -> Row:
    if len(cast) == 1:
        rank, position, _, value = cast[0]
        return (-value, rank, position, chunk_id, corpus, cast)
    # Of equal ranks `min` takes the first, and votes stand in the plan's order.
    rank, position, *_ = min(cast, key=_rank_of)
    return (-fsum(map(_value_of, cast)), rank, position, chunk_id, corpus, cast)
