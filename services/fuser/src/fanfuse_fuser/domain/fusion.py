"""Weighted fusion: ranked lists in, one totally ordered list with every vote out.

What a vote is worth is the policy's; never sums over corpora, and does not depend on the order of arrival. Works on
plain tuples; what is not on the page is never made into an object.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from math import fsum
from typing import NamedTuple, overload

from fanfuse_contracts.answer import Contribution
from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.copies import collapse
from fanfuse_fuser.domain.policies import Policy, build_policy
from fanfuse_fuser.domain.rows import Ballot, Cast, Identity, Row, ballots_of, identity_of, in_order
from fanfuse_fuser.domain.seats import first_hits, seated


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

    def scored(self) -> list[tuple[str, float]]:
        """Chunk id and score of every hit, without making objects of them."""
        return [(row[1], -row[0]) for row in self._rows]

    def _fused(self, row: Row) -> Fused:
        key = identity_of(row)
        fused = self._bare(row)
        if key in self._copies:
            fused = fused._replace(copies=tuple(map(self._bare, self._copies[key])))
        if key in self._seats:
            fused = fused._replace(reserved_by=self._lanes[self._seats[key]].name)
        return fused

    def _bare(self, row: Row) -> Fused:
        minus_score, chunk_id, corpus, cast = row
        votes = tuple(Vote(self._lanes[at], hit, value) for at, hit, value in ballots_of(cast))
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
        rows, seats = seated(rows, copies, first_hits(lists, config.reserved_seats), config.reserved_seats)
    return FusedList(rows, [lane for lane, _ in lists], copies, seats)


def _of_several_corpora(lists: Sequence[RankedList]) -> bool:
    return any(lane.corpora or lane.corpus != lists[0].lane.corpus for lane, _ in lists)


def ranked_rows(lists: Sequence[RankedList], policy: Policy) -> list[Row]:
    """Every chunk with its votes, best first, before copies and seats."""
    return in_order(
        [
            (-fsum(cast[2::3]), chunk_id, corpus, cast)
            for corpus, votes in _votes(lists, policy).items()
            for chunk_id, cast in votes.items()
        ]
    )


_Votes = dict[str, Cast]
"""By chunk id."""


def _votes(lists: Sequence[RankedList], policy: Policy) -> dict[str, _Votes]:
    """Votes by corpus, then by chunk id."""
    by_corpus: dict[str, _Votes] = {}
    for position, (lane, hits) in enumerate(lists):
        ballots = zip(repeat(position), hits, policy.values(lane.weight, hits), strict=False)
        if lane.corpora:
            for ballot in ballots:
                _cast(by_corpus.setdefault(ballot[1].corpus or lane.corpus, {}), ballot)
            continue
        votes = by_corpus.setdefault(lane.corpus, {})
        # `_cast` in place: this runs for every hit of every lane.
        for chunk_id, ballot in zip([hit.chunk_id for hit in hits], ballots, strict=True):
            cast = votes.get(chunk_id)
            if cast is None:
                votes[chunk_id] = ballot
            elif cast[-3] != position:
                votes[chunk_id] = cast + ballot
            else:
                _cast(votes, ballot)
    return by_corpus


def _cast(votes: _Votes, ballot: Ballot) -> None:
    """A lane votes once per chunk, at its best rank."""
    position, hit, _ = ballot
    cast = votes.get(hit.chunk_id, ())
    if not cast or cast[-3] != position:
        votes[hit.chunk_id] = cast + ballot
    elif hit.rank < cast[-2].rank:
        votes[hit.chunk_id] = cast[:-3] + ballot
