"""Reserved seats: the first hits of every lane stay in the first window of the fused list, whatever their score.

In: the fused rows, best first. Out: the same rows with the seats taken, and the lane that lifted each row that would
not be in the window on its own. Depends on ranks alone, never on the page that is asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from fanfuse_fuser.domain.rows import Identity, Row, identity_of

SEAT_WINDOW: Final = 10
"""Length of the first window."""
MAX_LIFTED: Final = 5
"""Half of the window at most is taken from rows with a better score: with very many lanes the rest still decides."""


class _Seat(NamedTuple):
    rank: int
    lane: int


def seated(
    rows: Sequence[Row], copies: Mapping[Identity, Sequence[Row]], seats: int
) -> tuple[list[Row], dict[Identity, int]]:
    """Rows with one of the first `seats` ranks of a lane are in the first window, where `MAX_LIFTED` allows.

    What is lifted pushes the last unreserved rows out; inside and after the window the order stays that of the score.
    Where too many would be lifted, better ranks go first, then better scores. A copy's seat is that of the row it
    collapsed into.
    """
    lent = {key for key, same in copies.items() if any(one[1] <= seats for one in same)}
    chosen = [at for at, row in enumerate(rows) if row[1] <= seats or (lent and identity_of(row) in lent)]
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


def holds_seat(row: Row, copies: Mapping[Identity, Sequence[Row]], seats: int) -> bool:
    """True if a lane has the row, or a copy of it, among its first `seats` hits."""
    return row[1] <= seats or any(copy[1] <= seats for copy in copies.get(identity_of(row), ()))


def _seat(same: Iterable[Row], seats: int) -> _Seat:
    """The best seat that a lane gives one of these rows, of equal ones the first lane's in the plan's order."""
    return min(_Seat(rank, position) for row in same for rank, position, *_ in row[5] if rank <= seats)
