"""The rows that fusion sorts: plain tuples, for making objects of every hit would cost more than fusing them."""

from collections.abc import Iterator
from itertools import islice
from operator import eq, itemgetter
from typing import Any

from fanfuse_contracts.retrieval import LaneHit

Identity = tuple[str, str]
"""Corpus and chunk id; the tenant is the query's."""
Ballot = tuple[int, LaneHit, float]
"""Position of the lane in the plan, hit, value."""
Cast = tuple[Any, ...]
"""The ballots for one chunk, by position, one behind the other: their values are every third item, without a loop."""
Row = tuple[float, str, str, Cast]
"""Minus score, chunk id, corpus, votes."""

_minus_score = itemgetter(0)


def identity_of(row: Row) -> Identity:
    """Whose row it is."""
    return row[2], row[1]


def in_order(rows: list[Row]) -> list[Row]:
    """By score, best rank, lane order of the plan, chunk id, corpus; ranks are looked at only where scores tie."""
    rows.sort(key=_minus_score)
    scores = [row[0] for row in rows]
    begin = 0
    for at in [at for at, ties in enumerate(map(eq, scores, islice(scores, 1, None))) if ties]:
        if at < begin:
            continue
        begin, end = at, at + 2
        while end < len(rows) and scores[end] == scores[at]:
            end += 1
        rows[begin:end] = sorted(rows[begin:end], key=_standing)
        begin = end
    return rows


def ballots_of(cast: Cast) -> Iterator[Ballot]:
    """One by one."""
    return zip(cast[0::3], cast[1::3], cast[2::3], strict=True)


def first_hit_of(row: Row) -> LaneHit:
    """That of the first lane in the plan's order."""
    hit: LaneHit = row[3][1]
    return hit


def _standing(row: Row) -> tuple[tuple[int, int], str, str]:
    return min([(hit.rank, position) for position, hit, _ in ballots_of(row[3])]), row[1], row[2]
