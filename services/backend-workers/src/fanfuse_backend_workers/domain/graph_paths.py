"""How much of a weight a relation carries on, by what the question asks next.

In: the asked words as seen from a seed, relations. Out: words used up, parts. The numbers and why are in ADR 0010.
"""

from collections.abc import Sequence
from typing import Final

from fanfuse_backend_workers.domain.graph_question import RelationMatcher

UNASKED: Final = 0.1
"""Part of a weight where the question does not ask for the relation, but asks for others."""
SKIPPED: Final = 0.5
"""Part of a weight per asked word that is passed over."""


class AskedPath:
    """The asked words as seen from one seed."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = len(words)
        self._matcher = RelationMatcher(words)
        self._known: dict[tuple[int, str], tuple[int, float]] = {}

    def after(self, used: int, relation: str) -> tuple[int, float]:
        """Words used up after following a relation, and the part of the weight that is carried on."""
        if (used, relation) not in self._known:
            self._known[used, relation] = self._after(used, relation)
        return self._known[used, relation]

    def _after(self, used: int, relation: str) -> tuple[int, float]:
        if not self._words:
            return 0, 1.0
        asked = self._matcher.steps(relation)
        if used and asked[used - 1]:
            return used, 1.0
        for place in range(used, len(asked)):
            if asked[place] and (part := SKIPPED ** (place - used)) > UNASKED:
                return place + 1, part
        return used, UNASKED

    def complete(self, used: int) -> float:
        """How much of what was asked is answered."""
        return (1 + used) / (1 + self._words)
