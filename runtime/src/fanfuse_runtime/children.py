"""Child processes that never outlive the process that started them.

Start them from the main thread: the kernel ends a child when the thread that started it ends.
"""

import ctypes
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def ended_with_parent(how: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """A `preexec_fn`: the kernel sends `how` to the child when its parent is gone (Linux; elsewhere nothing)."""

    def prepare() -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, how)

    return prepare
