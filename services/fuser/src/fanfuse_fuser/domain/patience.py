"""How long to wait for texts before another worker is asked as well: what replies took in, pauses out.

The estimate is that of TCP's retransmission timer (RFC 6298): mean plus four mean deviations, smoothed, so that a busy
installation, whose replies all take longer, is not asked twice for everything. Knows no clock; durations in seconds.
"""

from collections.abc import Iterator
from typing import Final

AT_FIRST_S: Final = 0.05
SHORTEST_S: Final = 0.01
LONGEST_S: Final = 0.25
_OF_MEAN: Final = 1 / 8
_OF_DEVIATION: Final = 1 / 4


class Patience:
    """The pause of one process; starts at `AT_FIRST_S`, stays between `SHORTEST_S` and `LONGEST_S`."""

    def __init__(self) -> None:
        self._mean_s: float | None = None
        self._deviation_s = 0.0

    def observe(self, took_s: float) -> None:
        """Take in how long a reply took, from the request that it answers."""
        if self._mean_s is None:
            self._mean_s, self._deviation_s = took_s, took_s / 2
            return
        self._deviation_s += _OF_DEVIATION * (abs(took_s - self._mean_s) - self._deviation_s)
        self._mean_s += _OF_MEAN * (took_s - self._mean_s)

    @property
    def pause_s(self) -> float:
        """How long the first request is waited for alone."""
        if self._mean_s is None:
            return AT_FIRST_S
        return min(max(self._mean_s + 4 * self._deviation_s, SHORTEST_S), LONGEST_S)

    def pauses(self, timeout_s: float) -> Iterator[float]:
        """After each request, how long until the next: doubling up to `LONGEST_S`; together they are the timeout."""
        pause_s = self.pause_s
        while timeout_s > 2 * pause_s:
            yield pause_s
            timeout_s -= pause_s
            pause_s = min(2 * pause_s, LONGEST_S)
        yield timeout_s
