"""What the loss of a lane means for an answer, as an operator writes it: by tenant, by corpus, by kind or by backend.

In: sections `retrieval.quorum` and `corpora[].quorum`. Out: the requirement of each lane. The most exact word counts:
backend of the corpus, kind of the corpus, kind of the tenant, `should`.
Source: docs/adr/0016-quorum-and-early-finish.md.
"""

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import Field

from fanfuse_contracts.base import Written
from fanfuse_contracts.enums import ClosedSet, Kind, LaneOutcome

BackendName = Annotated[str, Field(pattern=r"^(vector|keyword|graph)/[a-z0-9_-]{1,64}$")]
"""A backend as a corpus names it: `kind/name`."""


class Requirement(ClosedSet):
    """How much an answer depends on one lane."""

    MUST = "must"
    """Lost: the answer is a failure that names the lane, without hits."""
    SHOULD = "should"
    """Lost: the answer is partial."""
    MAY = "may"
    """Lost, or slower than all others: the answer is complete, and names the lane."""


DEFAULT: Final = Requirement.SHOULD
LOST: Final = frozenset(
    {LaneOutcome.FAILED, LaneOutcome.LATE, LaneOutcome.SKIPPED_UNHEALTHY, LaneOutcome.SKIPPED_FILTER}
)
"""What a lane that must answer may not come to. One without input had nothing to answer; a cut list is an answer."""
_BY_STRENGTH: Final = (Requirement.MUST, Requirement.SHOULD, Requirement.MAY)


def strictest(requirements: Iterable[Requirement]) -> Requirement:
    """That of a lane which serves several corpora, each with its own; at least one is given."""
    return min(requirements, key=_BY_STRENGTH.index)


class Quorum(Written):
    """One requirement per kind of backend: `must`, `should` or `may`. None: what holds one level up."""

    vector: Requirement | None = None
    """Of lanes that find by likeness of meaning."""
    keyword: Requirement | None = None
    """Of lanes that find by words."""
    graph: Requirement | None = None
    """Of lanes that find by links between entities."""

    def of(self, kind: Kind) -> Requirement | None:
        """What is stated for a kind."""
        stated: Requirement | None = getattr(self, kind)  # the fields are named after the kinds
        return stated


class CorpusQuorum(Quorum):
    """The requirements of one corpus's lanes."""

    backends: dict[BackendName, Requirement] = {}
    """Of single backends, each as `kind/name`: stated where two backends of one kind differ."""

    def of_backend(self, kind: Kind, name: str) -> Requirement | None:
        """What is stated for a backend, or for its kind."""
        return self.backends.get(f"{kind.value}/{name}", self.of(kind))
