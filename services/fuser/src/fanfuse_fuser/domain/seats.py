"""Reserved seats: the first hits of every lane stay in the first window of the fused list, whatever their score.

In: the fused rows, best first. Out: the same rows with the seats taken, and the lane that lifted each row that would
not be in the window on its own. Depends on ranks alone, never on the page that is asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import Final

from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_fuser.domain.rows import Identity, Row, identity_of

SEAT_WINDOW: Final = 10
"""Length of the first window."""
MAX_LIFTED: Final = 5
"""Half of the window at most is taken from rows with a better score: with very many lanes the rest still decides."""


_chunk_id_of = itemgetter(1)

Seat = tuple[int, int]
"""A rank among the first of a lane, and the position of that lane in the plan."""
Seats = Mapping[Identity, Seat]
"""By chunk: the best seat that a lane gives it, of equal ones the first lane's in the plan's order."""


def first_hits(lists: Iterable[RankedList], seats: int) -> Seats:
    """The chunks that a lane has among its first `seats`, at most `MAX_RESERVED_SEATS`."""
    given: dict[Identity, Seat] = {}
    for position, one in enumerate(lists):
        for corpus, chunk_id, rank in one.firsts:
            if rank <= seats:
                seat, key = (rank, position), (corpus, chunk_id)
                given[key] = min(seat, given.get(key, seat))
    return given


def seated(
    rows: Sequence[Row], copies: Mapping[Identity, Sequence[Row]], firsts: Seats
) -> tuple[list[Row], dict[Identity, int]]:
    """Rows with one of the first ranks of a lane are in the first window, where `MAX_LIFTED` allows.

    What is lifted pushes the last unreserved rows out; inside and after the window the order stays that of the score.
    Where too many would be lifted, better ranks go first, then better scores. A copy's seat is that of the row it
    collapsed into.
    """
    lent = (key for key, same in copies.items() if not firsts.keys().isdisjoint(map(identity_of, same)))
    holding = firsts.keys() | lent
    names = {chunk_id for _, chunk_id in holding}
    # Nearly all rows are told apart by these alone.
    named = compress(range(len(rows)), map(names.__contains__, map(_chunk_id_of, rows)))
    held = {at: _seat(key, copies, firsts) for at in named if (key := identity_of(rows[at])) in holding}
    inside = [at for at in range(min(SEAT_WINDOW, len(rows))) if at not in held]
    outside = sorted((rank, at) for at, (rank, _) in held.items() if at >= SEAT_WINDOW)
    lifted = [at for _, at in outside[: min(MAX_LIFTED, len(inside))]]
    if not lifted:
        return list(rows), {}
    pushed = set(inside[-len(lifted) :])
    first = [at for at in range(SEAT_WINDOW) if at not in pushed] + sorted(lifted)
    behind = list(rows[SEAT_WINDOW:])
    for at in sorted(lifted, reverse=True):
        del behind[at - SEAT_WINDOW]
    order = [*(rows[at] for at in first), *(rows[at] for at in sorted(pushed)), *behind]
    return order, {identity_of(rows[at]): held[at][1] for at in lifted}


def holds_seat(row: Row, copies: Mapping[Identity, Sequence[Row]], firsts: Seats) -> bool:
    """True if a lane has the row, or a copy of it, among its first hits."""
    key = identity_of(row)
    return key in firsts or not firsts.keys().isdisjoint(map(identity_of, copies.get(key, ())))


def _seat(key: Identity, copies: Mapping[Identity, Sequence[Row]], firsts: Seats) -> Seat:
    """The best seat that a lane gives a row or one of its copies, of which one has a seat."""
    if key not in copies:
        return firsts[key]
    return min(firsts[one] for one in (key, *map(identity_of, copies[key])) if one in firsts)
