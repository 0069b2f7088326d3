"""The bounds of a walk, and when one that was met makes an answer a cut one.

In: what each bound left out, by the weight it could have had. Out: the names of the cuts. A bound is part of the
method; it cuts an answer only if the heaviest single thing it left out could by itself stand in the window (ADR 0010).
"""

from typing import Final

FRONTIER: Final = 300
"""States followed per hop, heaviest first."""
STEP_ROWS: Final = 4_000
"""Relations read per hop."""
ENTITIES: Final = 300
"""Entities whose chunks are read, heaviest first; as many as the window where that is larger."""
MENTION_ROWS: Final = 1_000
"""Mentions read."""
FILTERED_ROWS: Final = 8_000
"""Mentions read where a filter keeps some of their chunks out."""
ONE: Final = 1 << 48
"""All weight that a walk starts with. Weights are integers, so that sums are exact in any order."""


class LeftOut:
    """The most that a single thing left out by each bound could have weighed."""

    def __init__(self) -> None:
        self._most: dict[str, int] = {}
        self._whatever: set[str] = set()

    def note(self, bound: str, weight: int) -> None:
        """Something of at most this weight was left out."""
        self._most[bound] = max(weight, self._most.get(bound, 0))

    def cut(self, reason: str) -> None:
        """Nobody knows what was left out."""
        self._whatever.add(reason)

    def cuts(self, last: int) -> str | None:
        """Names of the cuts of a window whose last hit weighs `last`; 0 where the window is not full."""
        met = {bound for bound, weight in self._most.items() if weight >= last}
        return ", ".join(sorted(met | self._whatever)) or None
