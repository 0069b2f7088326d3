"""Whether one more query of a tenant may enter the flow, as one of several classifiers decides it.

In: admissions of this replica, and now and then how many queries of the tenant the broker holds. Out: yes, no, or
"count first". Seconds are of any steady clock. Two facts bound what all replicas admit together:
- a query is in the flow for its budget at most, so what this replica admitted within it bounds its own part; below its
  share of an eighth of the ceiling nothing has to be counted;
- above it, the room that a count found is shared out among the replicas until the next count.
So there are never more than nine eighths of the ceiling, and one more per replica for rounding.
"""

import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

_VALID_PER_PLACE_S: Final = 40e-6
_VALID_S: Final = (0.01, 0.1)
"""At least and at most: an answered query takes its place for so long still, and a flood is counted as often."""
UNCOUNTED: Final = 1 / 8
"""Part of the ceiling that all replicas together fill without counting: most tenants never ask more at a time."""
MAX_TENANTS: Final = 10_000
"""Tenants remembered; over that the one that asked longest ago is forgotten, and counts as new."""


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


@dataclass(slots=True)
class Ceilings:
    """What one replica knows of its tenants."""

    _tenants: OrderedDict[str, _Tenant] = field(default_factory=OrderedDict)

    def enter(self, tenant: str, now_s: float, budget_s: float, ceiling: int, replicas: int) -> Entry:
        """Decide on one query; ADMIT also notes it, until `passed`.

        `ceiling` 0: unbounded. `replicas`: live ones, this included.
        """
        if ceiling == 0:
            return Entry.ADMIT
        known = self._of(tenant, ceiling)
        while known.ends_s and known.ends_s[0] <= now_s:
            known.ends_s.popleft()
        if len(known.ends_s) >= ceiling * UNCOUNTED / replicas:
            if now_s - known.counted_at_s > count_valid_s(ceiling):
                return Entry.COUNT
            if known.admitted_since >= math.ceil(max(0, ceiling - known.counted) / replicas):
                return Entry.REFUSE
        known.ends_s.append(now_s + budget_s)
        known.admitted_since += 1
        known.passing += 1
        return Entry.ADMIT

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
