"""Which messages lie in a work queue for ever without anybody having been told.

In: what two sweeps saw. Out: yes or no. In a work queue a handled message is gone; one that was delivered before the
last sweep and is still there, long after any budget, is in nobody's hands. Sequences and ages only: no counting.
"""

from typing import Final, NamedTuple

from fanfuse_contracts import limits

SWEEP_EVERY_S: Final = 60.0
"""Longer than a handler with its retries can hold a message whose budget is over."""
LOST_AFTER_S: Final = 2 * SWEEP_EVERY_S + limits.MAX_BUDGET_MS / 1e3
"""No message this old can still be answered in time."""


class Sighting(NamedTuple):
    """What one sweep saw of a consumer."""

    delivered: int
    """Highest stream sequence it had delivered."""


def stuck(sequence: int, stored_ns: int, before: Sighting, now_ns: int) -> bool:
    """True if the message was delivered before the last sweep and its budget is over. Times in broker nanoseconds."""
    return sequence <= before.delivered and (now_ns - stored_ns) / 1e9 > LOST_AFTER_S
