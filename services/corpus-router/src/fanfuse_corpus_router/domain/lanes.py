"""What becomes of the wired lanes of a selected corpus: searched, or left out and why.

In: a card, its lanes as they turned out for a kind of query, the shape that weighs. Out: frozen data with what follows
from it for every query of that kind. It asks nobody: domain/readiness.py found out which lane is ready.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FallbackReason, LaneOutcome, Shape, SourceKind
from fanfuse_contracts.plan import SkippedLane
from fanfuse_contracts.quorum import LOST, Requirement
from fanfuse_contracts.weights import Weights
from fanfuse_corpus_router.domain.backend_decision import decision_fields
from fanfuse_corpus_router.domain.selected import SelectedCorpus
from fanfuse_corpus_router.domain.wired import LaneKey, WiredLane, order

_MAX_CROWDED: Final = 8
"""Ways in which a full plan cut a corpus's lanes that are remembered."""


class ReadyLane(NamedTuple):
    """A wired lane that can be searched."""

    lane: WiredLane
    weight: float
    """That of the backend for this shape; the corpus's share comes on top."""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusLanes:
    """Every wired lane of a corpus, each by kind, then by backend. Shared between queries: nothing may change it."""

    card: CorpusCard
    shape: Shape
    weights: Weights | None
    """Of an earlier decision."""
    ready: tuple[ReadyLane, ...]
    skipped: tuple[SkippedLane, ...]
    down: bool
    """True if it could be searched but for the health of its backends."""
    lost: tuple[SkippedLane, ...]
    """Those left out that must answer. One without input does not count: it has nothing to search."""
    decision: dict[str, Any]
    """Fields of its `RoutingDecision`; the reason lacks its beginning, and what the query adds are defaults."""
    _crowded: dict[tuple[bool, ...], "CorpusLanes"] = field(default_factory=dict)

    def without(self, dropped: Container[LaneKey], reason: str) -> "CorpusLanes":
        """The same corpus with these lanes left out, although no backend is to blame."""
        keeps = tuple([one.lane.key not in dropped for one in self.ready])
        if all(keeps):
            return self
        known = self._crowded.get(keeps)
        if known is None:
            known = self._cut(keeps, reason)
            if len(self._crowded) < _MAX_CROWDED:
                self._crowded[keeps] = known
        return known

    def _cut(self, keeps: Sequence[bool], reason: str) -> "CorpusLanes":
        # The closest outcome there is: like a lane lost to health, it makes the answer partial.
        rows = [
            skip(self.card, one.lane, LaneOutcome.SKIPPED_UNHEALTHY, reason)
            for one, keep in zip(self.ready, keeps, strict=True)
            if not keep
        ]
        kept = tuple(one for one, keep in zip(self.ready, keeps, strict=True) if keep)
        skipped = tuple(sorted((*self.skipped, *rows), key=order))
        return settled(self.card, self.shape, self.weights, kept, skipped)

    def released(self) -> "CorpusLanes":
        """A corpus in whose place another one is searched: what that one must have counts, not its own."""
        skipped = tuple(
            one.model_copy(update={"requirement": Requirement.SHOULD}) if _is_lost(one) else one for one in self.skipped
        )
        return settled(self.card, self.shape, self.weights, self.ready, skipped)


def settled(
    card: CorpusCard,
    shape: Shape,
    weights: Weights | None,
    ready: tuple[ReadyLane, ...],
    skipped: tuple[SkippedLane, ...],
) -> CorpusLanes:
    """The lanes with what follows from them."""
    return CorpusLanes(
        card=card,
        shape=shape,
        weights=weights,
        ready=ready,
        skipped=skipped,
        down=not ready and any(lane.fallback_reason is not None for lane in skipped),
        lost=tuple(filter(_is_lost, skipped)),
        decision=decision_fields(card, shape, weights, [one.lane for one in ready], skipped),
    )


def _is_lost(lane: SkippedLane) -> bool:
    return lane.requirement is Requirement.MUST and lane.outcome in LOST


def skip(
    card: CorpusCard,
    lane: WiredLane,
    outcome: LaneOutcome,
    reason: str,
    fault: FallbackReason | None = None,
    *,
    shed: bool = False,
) -> SkippedLane:
    """The row of a lane that is left out."""
    return SkippedLane(
        corpus=card.corpus,
        kind=lane.wiring.kind,
        backend=lane.wiring.backend,
        outcome=outcome,
        reason=reason,
        fallback_reason=fault,
        requirement=lane.requirement,
        shed=shed,
    )


class WiredCorpus(NamedTuple):
    """A selected corpus and its lanes."""

    selected: SelectedCorpus
    lanes: CorpusLanes
    stands_in_for: str | None = None

    @property
    def card(self) -> CorpusCard:
        """Its capability card."""
        return self.selected.card

    @property
    def source(self) -> SourceKind:
        """The kind of truth it holds."""
        return self.selected.card.source

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the capabilities that the query asks of it; its card knows each of them."""
        if not self.selected.asked:
            return ()
        # The classifier may have read another version of the card.
        known = {capability.name for capability in self.card.can_answer}
        return tuple(asked.capability for asked in self.selected.asked if asked.capability in known)
