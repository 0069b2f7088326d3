"""Whether one more query of a tenant may enter the flow, as one of several classifiers decides it.

In: admissions of this replica, and now and then how many queries of the tenant the broker holds. Out: yes, no, or
"count first". Seconds are of any steady clock. Two facts bound what all replicas admit together:
- a query is in the flow for its budget at most, so what this replica admitted within it bounds its own part; below its
  share of an eighth of the ceiling nothing has to be counted;
- above it, the room that a count found is shared out among the replicas until the next count.
So there are never more than nine eighths of the ceiling, and one more per replica for rounding.
Where several tenants ask and the flow is late, a tenant's room shrinks to its share of what the workers can handle.
"""

import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice, takewhile
from typing import Final

from fanfuse_contracts import limits

_VALID_PER_PLACE_S: Final = 40e-6
_VALID_S: Final = (0.01, 0.1)
"""At least and at most: an answered query takes its place for so long still, and a flood is counted as often."""
UNCOUNTED: Final = 1 / 8
"""Part of the ceiling that all replicas together fill without counting: most tenants never ask more at a time."""
MAX_TENANTS: Final = 10_000
"""Tenants remembered; over that the one that asked longest ago is forgotten, and counts as new."""
LATE_S: Final = 0.25
"""An eighth of a default budget: who waited so long at the door of a busy flow may be late at its end."""
_RECENT_S: Final = 10.0
"""Whose last query is older does not ask any more."""
_SHRINK_EVERY_S: Final = 0.1
_LEAST: Final = 4
"""Queries in flight that every tenant may have, however many ask."""
_GROWN_IN_S: Final = 30.0
"""Until the whole ceiling is open again, after the flow was late."""


@dataclass(frozen=True, slots=True)
class Door:
    """What a replica knows of the flow when a query comes."""

    ceiling: int
    """Of this tenant; 0: unbounded."""
    replicas: int = 1
    """Live classifiers, this included."""
    in_hand: int = limits.WORKER_IN_FLIGHT
    """What the workers of the smallest pool handle at a time: fewer in flight would leave them idle."""
    late: bool = False
    """Queries wait at the door, or pools are under pressure."""


def count_valid_s(ceiling: int) -> float:
    """How long a count is believed: longer where it is dear, for it reads every query of the tenant in flight."""
    least_s, most_s = _VALID_S
    return min(max(ceiling * _VALID_PER_PLACE_S, least_s), most_s)


class Entry(Enum):
    """What becomes of a query at the door."""

    ADMIT = auto()
    REFUSE = auto()
    COUNT = auto()
    """Say how many are in flight, then ask again."""


@dataclass(slots=True)
class _Tenant:
    ends_s: deque[float]
    """When the budgets of the last admitted queries end, at most as many as the ceiling."""
    counted_at_s: float = -math.inf
    counted: int = 0
    admitted_since: int = 0
    passing: int = 0
    """Admitted, and not yet where a count would find them."""
    asked_s: float = -math.inf
    open: float = math.inf
    """Room of this tenant: at most its ceiling, at least its share of what the workers handle."""
    opened_s: float = -math.inf
    """When that was last changed."""


@dataclass(slots=True)
class Ceilings:
    """What one replica knows of its tenants."""

    _tenants: OrderedDict[str, _Tenant] = field(default_factory=OrderedDict)

    def asks(self, tenant: str, now_s: float, ceiling: int) -> None:
        """Note that a tenant asks, also where its query comes too late to enter; not of one without a ceiling."""
        if ceiling:
            self._of(tenant, ceiling).asked_s = now_s

    def enter(self, tenant: str, now_s: float, budget_s: float, door: Door) -> Entry:
        """Decide on one query; ADMIT also notes it, until `passed`."""
        if door.ceiling == 0:
            return Entry.ADMIT
        known = self._of(tenant, door.ceiling)
        known.asked_s = now_s
        room = self._room(known, now_s, door)
        while known.ends_s and known.ends_s[0] <= now_s:
            known.ends_s.popleft()
        if len(known.ends_s) >= min(door.ceiling * UNCOUNTED, room) / door.replicas:
            if now_s - known.counted_at_s > count_valid_s(door.ceiling):
                return Entry.COUNT
            if known.admitted_since >= math.ceil(max(0, room - known.counted) / door.replicas):
                return Entry.REFUSE
        known.ends_s.append(now_s + budget_s)
        known.admitted_since += 1
        known.passing += 1
        return Entry.ADMIT

    def room_of(self, tenant: str, ceiling: int) -> int:
        """Most queries that it may have in flight now, by its last one."""
        known = self._tenants.get(tenant)
        return ceiling if known is None else int(min(known.open, ceiling))

    def _room(self, known: _Tenant, now_s: float, door: Door) -> int:
        since_s = now_s - known.opened_s
        asking = self._asking(now_s, door.in_hand) if door.late else 1
        if asking > 1:
            if since_s >= _SHRINK_EVERY_S:
                known.open = max(min(known.open, door.ceiling) / 2, door.in_hand / asking, _LEAST)
                known.opened_s = now_s
        elif known.open < door.ceiling:
            known.open, known.opened_s = known.open + since_s * door.ceiling / _GROWN_IN_S, now_s
        return int(min(known.open, door.ceiling))

    def _asking(self, now_s: float, at_most: int) -> int:
        # Whoever asked last stands last.
        last = islice(reversed(self._tenants.values()), at_most)
        return sum(1 for _ in takewhile(lambda known: now_s - known.asked_s < _RECENT_S, last))

    def passed(self, tenant: str) -> None:
        """An admitted query is where a count finds it, or is done already."""
        known = self._tenants.get(tenant)
        if known is not None:
            known.passing = max(0, known.passing - 1)

    def counted(self, tenant: str, now_s: float, in_flight: int) -> None:
        """The broker holds this many queries of the tenant now."""
        known = self._tenants.get(tenant)
        if known is not None:
            known.counted_at_s, known.counted, known.admitted_since = now_s, in_flight, known.passing

    def _of(self, tenant: str, ceiling: int) -> _Tenant:
        known = self._tenants.get(tenant)
        if known is None:
            known = self._tenants[tenant] = _Tenant(deque(maxlen=ceiling))
            if len(self._tenants) > MAX_TENANTS:
                self._tenants.popitem(last=False)
        self._tenants.move_to_end(tenant)
        return known
