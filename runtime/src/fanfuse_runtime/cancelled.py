"""Queries whose caller no longer waits, remembered for as long as work of theirs may still come.

In: cancellations with their moment, in seconds of any steady clock. Out: yes or no. Bounded in time and number.
"""

from collections import Counter, OrderedDict
from typing import Final

from fanfuse_contracts import limits

QueryKey = tuple[str, str]
"""Tenant and query id."""

MAX_REMEMBERED: Final = 10_000
MAX_OF_TENANT: Final = 1_000
"""Of one tenant: what it cancels over that is not remembered, so that a flood costs little, and others nothing."""
REMEMBERED_S: Final = limits.MAX_BUDGET_MS / 1e3


class Cancelled:
    """The cancellations of the last 30 seconds, at most 1,000 of a tenant and 10,000 in all."""

    def __init__(self) -> None:
        self._at: OrderedDict[QueryKey, float] = OrderedDict()
        self._of_tenant: Counter[str] = Counter()

    def remember(self, key: QueryKey, at_s: float) -> None:
        """Take in one cancellation, and forget what is too old or too much."""
        while self._at and next(iter(self._at.values())) < at_s - REMEMBERED_S:
            self._forget_oldest()
        if key not in self._at:
            if self._of_tenant[key[0]] >= MAX_OF_TENANT:
                return
            self._of_tenant[key[0]] += 1
        self._at[key] = at_s
        self._at.move_to_end(key)
        if len(self._at) > MAX_REMEMBERED:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        (tenant, _), _ = self._at.popitem(last=False)
        self._of_tenant[tenant] -= 1
        if not self._of_tenant[tenant]:
            del self._of_tenant[tenant]

    def __contains__(self, key: QueryKey) -> bool:
        return key in self._at
