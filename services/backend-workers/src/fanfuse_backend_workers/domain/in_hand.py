"""The commands that this worker has in hand, by pool, and how much of its budget the oldest one has used up.

In: commands taken and let go, broker time in nanoseconds. Out: a share. A pool is served in order, so its oldest
command is in some worker's hands, whatever waits behind it. Bounded by what a worker handles at a time; no clock.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_contracts.plan import RetrieveCommand


class InHand:
    """Commands between their arrival and their reply."""

    def __init__(self) -> None:
        self._held: defaultdict[Pool, dict[int, RetrieveCommand]] = defaultdict(dict)
        self._taken = 0

    @contextmanager
    def holding(self, pool: Pool, command: RetrieveCommand) -> Iterator[None]:
        """A command is in hand inside the block."""
        self._taken += 1
        ticket, held = self._taken, self._held[pool]
        held[ticket] = command
        try:
            yield
        finally:
            del held[ticket]

    def oldest_share(self, pool: Pool, now_ns: int) -> float:
        """Time since submission over budget, of the command with the largest share; 0.0 where there is none."""
        return max((_share(command, now_ns) for command in self._held[pool].values()), default=0.0)


def _share(command: RetrieveCommand, now_ns: int) -> float:
    return max(0.0, (now_ns - command.submitted_ns) / 1e6 / command.budget_ms)
