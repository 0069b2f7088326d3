"""Reserved seats: the first hits of every lane stay in the first window of the fused list, whatever their score.

In: the fused rows, best first. Out: the same rows with the seats taken, and the lane that lifted each row that would
not be in the window on its own. Depends on ranks alone, never on the page that is asked for.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple

from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.rows import Identity, Row, ballots_of, identity_of

SEAT_WINDOW: Final = 10
"""Length of the first window."""
MAX_LIFTED: Final = 5
"""Half of the window at most is taken from rows with a better score: with very many lanes the rest still decides."""


class _Seat(NamedTuple):
    rank: int
    lane: int


def first_hits(lists: Iterable[tuple[Lane, Sequence[LaneHit]]], seats: int) -> Set[Identity]:
    """Whose chunks a lane has among its first `seats`."""
    return {
        (hit.corpus or lane.corpus if lane.corpora else lane.corpus, hit.chunk_id)
        for lane, hits in lists
        for hit in hits
        if hit.rank <= seats
    }


def seated(
    rows: Sequence[Row], copies: Mapping[Identity, Sequence[Row]], firsts: Set[Identity], seats: int
) -> tuple[list[Row], dict[Identity, int]]:
    """Rows with one of the first `seats` ranks of a lane are in the first window, where `MAX_LIFTED` allows.

    What is lifted pushes the last unreserved rows out; inside and after the window the order stays that of the score.
    Where too many would be lifted, better ranks go first, then better scores. A copy's seat is that of the row it
    collapsed into.
    """
    lent = {key for key, same in copies.items() if not firsts.isdisjoint(map(identity_of, same))}
    holding = firsts | lent
    chosen = [at for at, row in enumerate(rows) if (row[2], row[1]) in holding]
    held = {at: _seat((rows[at], *copies.get(identity_of(rows[at]), ())), seats) for at in chosen}
    inside = [at for at in range(min(SEAT_WINDOW, len(rows))) if at not in held]
    outside = sorted((seat.rank, at) for at, seat in held.items() if at >= SEAT_WINDOW)
    lifted = [at for _, at in outside[: min(MAX_LIFTED, len(inside))]]
    if not lifted:
        return list(rows), {}
    pushed = set(inside[-len(lifted) :])
    first = [at for at in range(SEAT_WINDOW) if at not in pushed] + sorted(lifted)
    behind = list(rows[SEAT_WINDOW:])
    for at in sorted(lifted, reverse=True):
        del behind[at - SEAT_WINDOW]
    order = [*(rows[at] for at in first), *(rows[at] for at in sorted(pushed)), *behind]
    return order, {identity_of(rows[at]): held[at].lane for at in lifted}


def holds_seat(row: Row, copies: Mapping[Identity, Sequence[Row]], firsts: Set[Identity]) -> bool:
    """True if a lane has the row, or a copy of it, among its first hits."""
    key = identity_of(row)
    return key in firsts or not firsts.isdisjoint(map(identity_of, copies.get(key, ())))


def _seat(same: Iterable[Row], seats: int) -> _Seat:
    """The best seat that a lane gives one of these rows, of equal ones the first lane's in the plan's order."""
    return min(
        _Seat(hit.rank, position) for row in same for position, hit, _ in ballots_of(row[3]) if hit.rank <= seats
    )
