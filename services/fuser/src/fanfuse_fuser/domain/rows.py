"""The rows that fusion sorts: plain tuples, for making objects of every hit would cost more than fusing them.

In: ranked lists and a policy. Out: what each lane says for the chunks of a corpus, and rows in one total order.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import eq, itemgetter
from sys import maxsize
from typing import NamedTuple

from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.policies import Policy
from fanfuse_fuser.domain.ranked import Column, RankedList

Identity = tuple[str, str]
"""Corpus and chunk id; the tenant is the query's."""
Row = tuple[float, str, str]
"""Score, chunk id, corpus."""

score_of = itemgetter(0)
"""The score of a row."""


class Poll(NamedTuple):
    """What one lane says for the chunks of one corpus."""

    position: int
    """Of the lane, in the plan's order."""
    lane: Lane
    column: Column
    values: Sequence[float]
    """The policy's, one per item of the column."""


class Vote(NamedTuple):
    """What one lane says for one chunk; `value` is the policy's."""

    lane: Lane
    hit: LaneHit
    value: float


Polls = Mapping[str, Sequence[Poll]]
"""By corpus, in the plan's order."""


def poll(lists: Sequence[RankedList], policy: Policy) -> Polls:
    """Every lane's votes, by the corpus whose chunks they are for."""
    polls: dict[str, list[Poll]] = {}
    for position, one in enumerate(lists):
        for corpus, column in one.columns.items():
            values = policy.values(one.lane.weight, column, one.scale)
            polls.setdefault(corpus, []).append(Poll(position, one.lane, column, values))
    return polls


def identity_of(row: Row) -> Identity:
    """Whose row it is."""
    return row[2], row[1]


def votes_of(row: Row, polls: Polls) -> tuple[Vote, ...]:
    """One per lane that has the chunk, in the plan's order."""
    return tuple([Vote(lane, column.hits[at], values[at]) for (_, lane, column, values), at in _found(row, polls)])


def first_vote_of(row: Row, polls: Polls) -> Vote:
    """That of the first lane in the plan's order."""
    (_, lane, column, values), at = _found(row, polls)[0]
    return Vote(lane, column.hits[at], values[at])


def ties_settled(rows: list[Row], polls: Polls) -> list[Row]:
    """Rows that are sorted by score, those of one score by best rank, lane order of the plan, chunk id, corpus."""
    scores = list(map(score_of, rows))
    begin = 0
    for at in [at for at, ties in enumerate(map(eq, scores, islice(scores, 1, None))) if ties]:
        if at < begin:
            continue
        begin, end = at, at + 2
        while end < len(rows) and scores[end] == scores[at]:
            end += 1
        rows[begin:end] = sorted(rows[begin:end], key=lambda row: _standing(row, polls))
        begin = end
    return rows


def _standing(row: Row, polls: Polls) -> tuple[int, int, str, str]:
    """Best rank, the first lane that gives it, chunk id and corpus: of many lanes, most rows are tied."""
    _, chunk_id, corpus = row
    best, first = maxsize, 0
    for position, _, column, _ in polls[corpus]:
        at = column.places.get(chunk_id)
        if at is not None and column.ranks[at] < best:
            best, first = column.ranks[at], position
    return best, first, chunk_id, corpus


def _found(row: Row, polls: Polls) -> list[tuple[Poll, int]]:
    """Who has the chunk of a row, and where it stands in his column."""
    _, chunk_id, corpus = row
    return [(one, at) for one in polls[corpus] if (at := one.column.places.get(chunk_id)) is not None]
