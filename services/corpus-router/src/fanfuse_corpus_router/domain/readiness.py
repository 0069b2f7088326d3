"""Which backends of a selected corpus are searched, and which are left out and why.

In: a selected corpus, the classified query, what is known of backends and was found out for earlier queries. Out: its
wired lanes, each ready or skipped with its reason. No lane is ever ready that cannot enforce the whole filter.
"""

from collections.abc import Hashable, Sequence
from typing import Final

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import LaneOutcome, Shape
from fanfuse_contracts.filters import leaves
from fanfuse_contracts.plan import SkippedLane
from fanfuse_contracts.quorum import Requirement
from fanfuse_corpus_router.domain.bias import biased_weight
from fanfuse_corpus_router.domain.facts import Fault
from fanfuse_corpus_router.domain.filtering import filter_problem
from fanfuse_corpus_router.domain.inputs import NoInput, QueryInputs
from fanfuse_corpus_router.domain.lanes import CorpusLanes, ReadyLane, WiredCorpus, settled, skip
from fanfuse_corpus_router.domain.memory import KnownCorpus, KnownTenant
from fanfuse_corpus_router.domain.selected import SelectedCorpus
from fanfuse_corpus_router.domain.wired import WiredLane

SWITCHED_OFF: Final = "switched off: its weight is 0"

_Row = ReadyLane | SkippedLane


class Readiness:
    """Of the corpora of one query; what all of them share is worked out once."""

    def __init__(self, event: QueryClassified, shape: Shape, known: KnownTenant) -> None:
        """`known`: what is known of the event's tenant, and of its backends."""
        self.inputs = QueryInputs(event.query, event.classification)
        self._conditions = tuple(leaves(event.query.filter))
        self._shape = shape
        self._backends = known.facts
        self._known = known
        self._is_sticky = event.query.decision is not None
        self._abouts: dict[bytes, Hashable] = {}

    def wire(self, selected: SelectedCorpus, stands_in_for: str | None = None) -> WiredCorpus:
        """Every wired lane of the corpus."""
        corpus = self._known.of(selected.card)
        # A filter and an earlier decision make too many kinds of query to remember.
        if self._conditions or self._is_sticky or not corpus.weighable:
            return WiredCorpus(selected, self._find_out(selected, corpus), stands_in_for)
        about = self._abouts.get(corpus.spec)
        if about is None:
            about = self._about(corpus)
        lanes = corpus.found.get(about)
        if lanes is None:
            lanes = corpus.remember(about, self._find_out(selected, corpus))
        return WiredCorpus(selected, lanes, stands_in_for)

    def _about(self, corpus: KnownCorpus) -> Hashable:
        """All that the lanes of a corpus depend on, of a query without filter."""
        about = self._shape, self.inputs.problems(corpus.card.embedder, corpus.spec)
        self._abouts[corpus.spec] = about
        return about

    def _find_out(self, selected: SelectedCorpus, corpus: KnownCorpus) -> CorpusLanes:
        card = selected.card
        rows = self._shed(card, [self._ready(selected, lane) for lane in corpus.lanes])
        ready = tuple([row for row in rows if isinstance(row, ReadyLane)])
        skipped = tuple([row for row in rows if isinstance(row, SkippedLane)])
        return settled(card, self._shape, selected.kind_weights, ready, skipped)

    def _shed(self, card: CorpusCard, rows: Sequence[_Row]) -> Sequence[_Row]:
        """Without the lanes that may be missing and whose pool is under pressure, unless the corpus would have none."""
        if not self._backends.pressed:
            return rows
        kept = [self._unless_pressed(card, row) for row in rows]
        return kept if any(isinstance(row, ReadyLane) for row in kept) else rows

    def _unless_pressed(self, card: CorpusCard, row: _Row) -> _Row:
        if isinstance(row, SkippedLane) or row.lane.requirement is not Requirement.MAY:
            return row
        fault = self._backends.pressure(row.lane.wiring)
        return row if fault is None else _unhealthy(card, row.lane, fault, shed=True)

    def _ready(self, selected: SelectedCorpus, lane: WiredLane) -> _Row:
        """Health is asked last: a lane that could not run anyway is not a fault of its backend."""
        card, wiring = selected.card, lane.wiring
        weight = biased_weight(self._shape, card, wiring, selected.kind_weights)
        if weight * selected.weight <= 0.0:
            return skip(card, lane, LaneOutcome.SKIPPED_NO_INPUT, SWITCHED_OFF)
        problem = filter_problem(card, wiring, self._conditions)
        if problem is not None:
            return skip(card, lane, LaneOutcome.SKIPPED_FILTER, problem)
        found = self.inputs.of(lane)
        if isinstance(found, NoInput):
            return skip(card, lane, LaneOutcome.SKIPPED_NO_INPUT, found.reason)
        fault = self._backends.fault(card, wiring)
        return ReadyLane(lane, weight) if fault is None else _unhealthy(card, lane, fault)


def _unhealthy(card: CorpusCard, lane: WiredLane, fault: Fault, *, shed: bool = False) -> SkippedLane:
    return skip(card, lane, LaneOutcome.SKIPPED_UNHEALTHY, fault.reason, fault.fallback, shed=shed)
