"""Queries whose caller no longer waits, remembered for as long as work of theirs may still come.

In: cancellations with their moment, in seconds of any steady clock. Out: yes or no. Bounded in time and number.
"""

from collections import OrderedDict
from typing import Final

from fanfuse_contracts import limits

QueryKey = tuple[str, str]
"""Tenant and query id."""

MAX_REMEMBERED: Final = 10_000
REMEMBERED_S: Final = limits.MAX_BUDGET_MS / 1e3


class Cancelled:
    """The cancellations of the last 30 seconds, at most 10,000."""

    def __init__(self) -> None:
        self._at: OrderedDict[QueryKey, float] = OrderedDict()

    def remember(self, key: QueryKey, at_s: float) -> None:
        """Take in one cancellation, and forget what is too old or too much."""
        self._at[key] = at_s
        self._at.move_to_end(key)
        while self._at and (len(self._at) > MAX_REMEMBERED or next(iter(self._at.values())) < at_s - REMEMBERED_S):
            self._at.popitem(last=False)

    def __contains__(self, key: QueryKey) -> bool:
        return key in self._at
