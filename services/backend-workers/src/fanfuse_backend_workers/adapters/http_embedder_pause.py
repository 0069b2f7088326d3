"""Keeps queries from waiting for an endpoint that is down.

In: how the last calls ended. Out: whether the next one may be made. After three failures in a row there is a pause, in
which every call fails at once; then one call at a time finds out whether it is over.
"""

import threading
from collections.abc import Callable
from typing import Final

FAILURES: Final = 3
PAUSE_S: Final = 5.0


class Pause:
    """Of one endpoint; safe for threads."""

    def __init__(self, steady_s: Callable[[], float]) -> None:
        self._steady_s = steady_s
        self._failed = 0
        self._until = 0.0
        self._trying = False
        self._lock = threading.Lock()

    def let_in(self) -> bool:
        """Whether a call may be made; who is let in says how it `ended`."""
        with self._lock:
            if self._failed < FAILURES:
                return True
            if self._trying or self._steady_s() < self._until:
                return False
            self._trying = True
            return True

    def ended(self, *, failed: bool) -> None:
        """How a call ended that was let in."""
        with self._lock:
            self._trying = False
            self._failed = self._failed + 1 if failed else 0
            self._until = self._steady_s() + PAUSE_S
