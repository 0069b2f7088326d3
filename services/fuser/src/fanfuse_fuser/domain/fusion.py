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
from fanfuse_fuser.domain.copies import collapse
from fanfuse_fuser.domain.policies import build_policy
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_fuser.domain.rows import (
    Identity,
    Poll,
    Polls,
    Row,
    Vote,
    identity_of,
    poll,
    score_of,
    ties_settled,
    votes_of,
)
from fanfuse_fuser.domain.seats import first_hits, seated

_id_and_score = itemgetter(1, 0)


class Fused(NamedTuple):
    """One hit of the fused list."""

    corpus: str
    chunk_id: str
    score: float
    """`math.fsum` of the votes' values, bit for bit."""
    votes: tuple[Vote, ...]
    """One per lane that has the chunk, in the plan's order."""
    copies: tuple[Identity, ...] = ()
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
        polls: Polls,
        copies: Mapping[Identity, Sequence[Row]],
        reserved: Mapping[Identity, str],
    ) -> None:
        """`copies`: rows of equal content by the row they collapsed into. `reserved`: the lane that lifted a row."""
        self._rows, self._polls, self._copies, self._reserved = rows, polls, copies, reserved

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Fused: ...
    @overload
    def __getitem__(self, index: slice) -> "FusedList": ...
    def __getitem__(self, index: int | slice) -> "Fused | FusedList":
        if isinstance(index, slice):
            return FusedList(self._rows[index], self._polls, self._copies, self._reserved)
        return self._fused(self._rows[index])

    def __iter__(self) -> Iterator[Fused]:
        return map(self._fused, self._rows)

    def scored(self) -> list[tuple[str, float]]:
        """Chunk id and score of every hit, without making objects of them."""
        return list(map(_id_and_score, self._rows))

    def identities(self) -> list[Identity]:
        """Corpus and chunk id of every hit."""
        return [identity_of(row) for row in self._rows]

    def copies_of(self, hit: Fused) -> tuple[Fused, ...]:
        """The same content in other corpora as hits of their own, best first."""
        return tuple(self._alone(row) for row in self._copies.get((hit.corpus, hit.chunk_id), ()))

    def _fused(self, row: Row) -> Fused:
        key = row[2], row[1]
        # Their votes are looked up only where one takes the place of its hit: a text may stand in every corpus.
        copies = tuple([(corpus, chunk_id) for _, chunk_id, corpus in self._copies.get(key, ())])
        return self._alone(row)._replace(copies=copies, reserved_by=self._reserved.get(key))

    def _alone(self, row: Row) -> Fused:
        return Fused(row[2], row[1], row[0], votes_of(row, self._polls))


DEFAULT = FusionConfig()
"""What an operator gets who states nothing."""


def fuse(lists: Sequence[RankedList], config: FusionConfig = DEFAULT) -> FusedList:
    """Every chunk with the sum of its votes, best first.

    `lists` stand in the order of the plan. A lane votes once per chunk, at its best rank; the identity of a chunk is
    its corpus and chunk id, where a hit of a shared search names the corpus itself. Order: score, best rank, lane order
    of the plan, chunk id. Then equal content of several corpora becomes one hit with the best one's score, and reserved
    seats are taken, as the configuration says. Source: docs/adr/0011-fusion-policy.md.
    """
    polls = poll(lists, build_policy(config))
    rows = ranked_rows(polls)
    copies: Mapping[Identity, Sequence[Row]] = {}
    lifted: Mapping[Identity, int] = {}
    if config.collapse and len(polls) > 1:
        rows, copies = collapse(rows, polls)
    if config.reserved_seats:
        rows, lifted = seated(rows, copies, first_hits(lists, config.reserved_seats))
    return FusedList(rows, polls, copies, {key: lists[position].lane.name for key, position in lifted.items()})


def ranked_rows(polls: Polls) -> list[Row]:
    """Every chunk with the sum of its votes, best first, before copies and seats."""
    rows: list[Row] = []
    distinct: set[float] = set()
    for corpus, found in polls.items():
        votes = _votes(found)
        # One vote is its own sum, and two are added with one rounding: most chunks are found by no more lanes.
        scores = [
            cast[0] if len(cast) == 1 else cast[0] + cast[1] if len(cast) == 2 else fsum(cast)
            for cast in votes.values()
        ]
        distinct.update(scores)
        rows.extend(zip(scores, votes, repeat(corpus)))
    rows.sort(key=score_of, reverse=True)
    return rows if len(distinct) == len(rows) else ties_settled(rows, polls)


def _votes(polls: Iterable[Poll]) -> dict[str, list[float]]:
    """What the chunks of one corpus get, by chunk id."""
    votes: dict[str, list[float]] = {}
    for one in polls:
        # This runs for every hit of every lane.
        for chunk_id, value in zip(one.column.chunk_ids, one.values, strict=True):
            if chunk_id in votes:
                votes[chunk_id].append(value)
            else:
                votes[chunk_id] = [value]
    return votes
