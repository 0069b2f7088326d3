"""Every fusion policy written a second time, from its formula alone, in exact fractions. Imports nothing of Fanfuse.

In: for each lane its corpus, weight and hits (chunk id, rank, engine's score, content hash), in the order of the plan.
Out: one row per chunk, in the documented order: score, best rank, lane order, chunk id.

`values` rounds after each operation in the stated order, as doubles do; `exact` is the same sum without any rounding.

- `rrf`: weight / (k + rank)
- `rrf_rank`: 1 / (k + rank / weight)
- `minmax`: weight × (s + (1 - s) × ((score - lowest) / (highest - lowest))), s = 1 / n of n hits; all scores equal: the
  quotient of scores is 1/2
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple


class Hit(NamedTuple):
    chunk_id: str
    rank: int
    score: float
    content_hash: str = ""


class ReferenceLane(NamedTuple):
    corpus: str
    weight: float
    hits: Sequence[Hit]


class ReferenceRow(NamedTuple):
    corpus: str
    chunk_id: str
    score: float
    values: tuple[float, ...]
    exact: Fraction
    best_rank: int
    seats: tuple[tuple[int, int], ...]
    """Rank and position of the lane of each vote."""
    content_hash: str


Number = Fraction | float
Round = Callable[[Fraction], Fraction]


def nearest(value: Fraction) -> Fraction:
    return Fraction(float(value))


def as_it_is(value: Fraction) -> Fraction:
    return value


def rrf(lane: ReferenceLane, hit: Hit, k: int, rounded: Round) -> Fraction:
    return rounded(Fraction(lane.weight) / (k + hit.rank))


def rrf_rank(lane: ReferenceLane, hit: Hit, k: int, rounded: Round) -> Fraction:
    stretched = rounded(hit.rank / Fraction(lane.weight))
    return rounded(1 / rounded(k + stretched))


def minmax(lane: ReferenceLane, hit: Hit, _k: int, rounded: Round) -> Fraction:
    scores = [one.score for one in lane.hits]
    weight, lowest, highest = Fraction(lane.weight), Fraction(min(scores)), Fraction(max(scores))
    place = Fraction(1, 2)
    if lowest != highest:
        place = rounded(rounded(Fraction(hit.score) - lowest) / rounded(highest - lowest))
    share = rounded(Fraction(1, len(scores)))
    return rounded(weight * rounded(share + rounded(rounded(1 - share) * place)))


POLICIES: dict[str, Callable[[ReferenceLane, Hit, int, Round], Fraction]] = {
    "rrf": rrf,
    "rrf_rank": rrf_rank,
    "minmax": minmax,
}


def fuse(lanes: Sequence[ReferenceLane], policy: str, k: int = 60) -> list[ReferenceRow]:
    value_of = POLICIES[policy]
    keys = dict.fromkeys((lane.corpus, hit.chunk_id) for lane in lanes for hit in lane.hits)
    rows = [_row(lanes, corpus, chunk_id, value_of, k) for corpus, chunk_id in keys]
    return sorted(rows, key=lambda row: (-row.score, *min(row.seats), row.chunk_id))


def _row(
    lanes: Sequence[ReferenceLane],
    corpus: str,
    chunk_id: str,
    value_of: Callable[[ReferenceLane, Hit, int, Round], Fraction],
    k: int,
) -> ReferenceRow:
    values, exact, seats, hashes = [], Fraction(0), [], []
    for position, lane in enumerate(lanes):
        mine = [hit for hit in lane.hits if lane.corpus == corpus and hit.chunk_id == chunk_id]
        if mine:
            best = min(mine, key=lambda hit: hit.rank)
            values.append(float(value_of(lane, best, k, nearest)))
            exact += value_of(lane, best, k, as_it_is)
            seats.append((best.rank, position))
            hashes.append(best.content_hash)
    score = float(sum(map(Fraction, values), Fraction(0)))
    return ReferenceRow(corpus, chunk_id, score, tuple(values), exact, min(seats)[0], tuple(seats), hashes[0])


def collapse(rows: Sequence[ReferenceRow]) -> list[tuple[ReferenceRow, list[ReferenceRow]]]:
    """Each row that stays, with its copies: later rows of its hash in other corpora than its own."""
    first = {
        row.content_hash: row for row in reversed(rows) if row.content_hash
    }  # reversed, so that the best row of a hash is the one that is left
    stays = [row for row in rows if first.get(row.content_hash, row).corpus == row.corpus]
    return [
        (
            row,
            [
                other
                for other in rows
                if row.content_hash
                and first[row.content_hash] is row
                and other.content_hash == row.content_hash
                and other.corpus != row.corpus
            ],
        )
        for row in stays
    ]


def seat(rows: Sequence[tuple[ReferenceRow, list[ReferenceRow]]], seats: int) -> list[ReferenceRow]:
    """One lift at a time: the next row behind the first ten that holds a seat goes in, the last that holds none out."""

    def best_seat(number: int) -> int | None:
        row, copies = rows[number]
        ranks = [rank for one in (row, *copies) for rank, _ in one.seats if rank <= seats]
        return min(ranks, default=None)

    window, behind = list(range(min(10, len(rows)))), list(range(10, len(rows)))
    waiting = [(rank, number) for number in behind if (rank := best_seat(number)) is not None]
    for _, number in sorted(waiting)[:5]:
        free = [one for one in window if best_seat(one) is None]
        if not free:
            break
        window.remove(free[-1])
        behind.append(free[-1])
        window.append(number)
        behind.remove(number)
    return [rows[number][0] for number in [*sorted(window), *sorted(behind)]]
