"""The garbage collector of a process that is ready: what it holds by then is never walked again, young objects rarely.

Reference counting frees almost all that a message leaves; walking the young objects after each 700 of them took 8 to
10 % of the CPU. Cycles are still collected, some thousand objects later. Counts objects; never touches them.
"""

import gc
from typing import Final

YOUNG_OBJECTS: Final = 10_000
"""More new than freed containers before the youngest generation is walked."""


class SettledCollector:
    """The collector's settings while a process is ready; harmless where several processes share an interpreter."""

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def settle(self) -> None:
        """Collect once, then set aside all that is left."""
        self._before = gc.get_threshold()
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, *self._before[1:])

    def release(self) -> None:
        """Walk everything again, as often as before; does nothing unless settled."""
        if self._before is not None:
            gc.unfreeze()
            gc.set_threshold(*self._before)
            self._before = None
