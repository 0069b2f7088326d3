"""Which backends of a selected corpus are searched, and which are left out and why.

In: a selected corpus, the classified query, what is known of backends. Out: its wired lanes, each ready with its input
or skipped with its reason. No lane is ever ready that cannot enforce the whole filter.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import FallbackReason, Kind, LaneOutcome, Shape, SourceKind
from fanfuse_contracts.filters import Leaf, leaves
from fanfuse_contracts.plan import SkippedLane
from fanfuse_contracts.quorum import DEFAULT, Quorum, Requirement
from fanfuse_corpus_router.domain.bias import biased_weight
from fanfuse_corpus_router.domain.facts import BackendFacts, Fault
from fanfuse_corpus_router.domain.filtering import filter_problem
from fanfuse_corpus_router.domain.inputs import LaneInput, NoInput, QueryInputs
from fanfuse_corpus_router.domain.selected import SelectedCorpus

SWITCHED_OFF = "switched off: its weight is 0"

_KIND_ORDER = {kind: position for position, kind in enumerate(Kind)}

LaneKey = tuple[str, Kind, str]
"""Corpus, kind and backend."""


class ReadyLane(NamedTuple):
    """A wired lane that can be searched. Its weight is `backend_weight` × `corpus_weight`."""

    corpus: str
    embedder: EmbedderSpec | None
    wiring: Wiring
    backend_weight: float
    corpus_weight: float
    input: LaneInput
    requirement: Requirement = DEFAULT

    @property
    def key(self) -> LaneKey:
        """No two lanes of a query have the same."""
        return self.corpus, self.wiring.kind, self.wiring.backend


_Row = ReadyLane | SkippedLane


@dataclass(frozen=True, slots=True)
class WiredCorpus:
    """A selected corpus and its wired lanes, each by kind (vector, keyword, graph), then by backend."""

    selected: SelectedCorpus
    ready: tuple[ReadyLane, ...]
    skipped: tuple[SkippedLane, ...]
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

    @property
    def down(self) -> bool:
        """True if it could be searched but for the health of its backends."""
        return not self.ready and any(lane.fallback_reason is not None for lane in self.skipped)

    def without(self, dropped: Container[LaneKey], reason: str) -> "WiredCorpus":
        """The same corpus with these lanes left out, although no backend is to blame."""
        # The closest outcome there is: like a lane lost to health, it makes the answer partial.
        rows = [
            _skip(self.card, lane.wiring, lane.requirement, LaneOutcome.SKIPPED_UNHEALTHY, reason)
            for lane in self.ready
            if lane.key in dropped
        ]
        if not rows:
            return self
        kept = tuple(lane for lane in self.ready if lane.key not in dropped)
        return replace(self, ready=kept, skipped=tuple(sorted((*self.skipped, *rows), key=_order)))


class LaneWiring:
    """Wires the corpora of one query; what all of them share is worked out once."""

    def __init__(
        self, event: QueryClassified, shape: Shape, backends: BackendFacts, quorum: Quorum | None = None
    ) -> None:
        """`quorum`: what holds for the tenant where a card says nothing."""
        self._inputs = QueryInputs(event.query, event.classification)
        self._conditions: tuple[Leaf, ...] = tuple(leaves(event.query.filter))
        self._shape = shape
        self._backends = backends
        self._of_tenant = {kind: (quorum and quorum.of(kind)) or DEFAULT for kind in Kind}

    def wire(self, selected: SelectedCorpus, stands_in_for: str | None = None) -> WiredCorpus:
        """Every wired lane of the corpus, in an order that does not depend on how its card was written."""
        rows = self._shed(selected, [self._wire(selected, one) for one in sorted(selected.card.backends, key=_order)])
        ready = tuple([row for row in rows if isinstance(row, ReadyLane)])
        skipped = tuple([row for row in rows if isinstance(row, SkippedLane)]) if len(ready) < len(rows) else ()
        return WiredCorpus(selected, ready, skipped, stands_in_for)

    def _shed(self, selected: SelectedCorpus, rows: Sequence[_Row]) -> Sequence[_Row]:
        """Without the lanes that may be missing and whose pool is under pressure, unless the corpus would have none."""
        if not self._backends.pressed:
            return rows
        kept = [self._unless_pressed(selected.card, row) for row in rows]
        return kept if any(isinstance(row, ReadyLane) for row in kept) else rows

    def _unless_pressed(self, card: CorpusCard, row: _Row) -> _Row:
        if isinstance(row, SkippedLane) or row.requirement is not Requirement.MAY:
            return row
        fault = self._backends.pressure(row.wiring)
        return row if fault is None else _unhealthy(card, row.wiring, row.requirement, fault, shed=True)

    def _wire(self, selected: SelectedCorpus, wiring: Wiring) -> ReadyLane | SkippedLane:
        """Health is asked last: a lane that could not run anyway is not a fault of its backend."""
        card, requirement = selected.card, wiring.requirement or self._of_tenant[wiring.kind]
        weight = biased_weight(self._shape, wiring, selected.kind_weights)
        if weight * selected.weight <= 0.0:
            return _skip(card, wiring, requirement, LaneOutcome.SKIPPED_NO_INPUT, SWITCHED_OFF)
        problem = filter_problem(card, wiring, self._conditions)
        if problem is not None:
            return _skip(card, wiring, requirement, LaneOutcome.SKIPPED_FILTER, problem)
        found = self._inputs.of(wiring.kind, card.embedder)
        if isinstance(found, NoInput):
            return _skip(card, wiring, requirement, LaneOutcome.SKIPPED_NO_INPUT, found.reason)
        fault = self._backends.fault(card, wiring)
        if fault is not None:
            return _unhealthy(card, wiring, requirement, fault)
        return ReadyLane(card.corpus, card.embedder, wiring, weight, selected.weight, found, requirement)


def _order(lane: Wiring | SkippedLane) -> tuple[int, str]:
    return _KIND_ORDER[lane.kind], lane.backend


def _unhealthy(
    card: CorpusCard, wiring: Wiring, requirement: Requirement, fault: Fault, *, shed: bool = False
) -> SkippedLane:
    outcome = LaneOutcome.SKIPPED_UNHEALTHY
    return _skip(card, wiring, requirement, outcome, fault.reason, fault.fallback, shed=shed)


def _skip(
    card: CorpusCard,
    wiring: Wiring,
    requirement: Requirement,
    outcome: LaneOutcome,
    reason: str,
    fault: FallbackReason | None = None,
    *,
    shed: bool = False,
) -> SkippedLane:
    return SkippedLane(
        corpus=card.corpus,
        kind=wiring.kind,
        backend=wiring.backend,
        outcome=outcome,
        reason=reason,
        fallback_reason=fault,
        requirement=requirement,
        shed=shed,
    )
