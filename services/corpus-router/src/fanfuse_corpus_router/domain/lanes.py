"""Which backends of a selected corpus are searched, and which are left out and why.

In: selected corpora, the classified query, what is known of backends. Out: lanes with their input, and every other
wired lane as skipped. No lane is ever built that cannot enforce the whole filter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fanfuse_contracts import limits
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FallbackReason, Kind, LaneOutcome
from fanfuse_contracts.filters import digest
from fanfuse_contracts.plan import Lane, SkippedLane
from fanfuse_corpus_router.domain.bias import biased_weight
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.filtering import filter_problem
from fanfuse_corpus_router.domain.inputs import LaneInput, NoInput, lane_input
from fanfuse_corpus_router.domain.naming import lane_name
from fanfuse_corpus_router.domain.selected import SelectedCorpus

_KIND_ORDER = tuple(Kind)


@dataclass(frozen=True, slots=True)
class ReadyLane:
    """A wired lane that can be searched. `weight` is backend weight × corpus weight."""

    card: CorpusCard
    wiring: Wiring
    weight: float
    input: LaneInput


WiredLane = ReadyLane | SkippedLane


def wire_lanes(
    selected: Sequence[SelectedCorpus], event: QueryClassified, backends: BackendFacts
) -> tuple[WiredLane, ...]:
    """One row per wired lane of every selected corpus: corpora in order, then vector, keyword, graph, then backend."""
    return tuple(
        _wire(corpus, wiring, event, backends) for corpus in selected for wiring in sorted_wirings(corpus.card)
    )


def sorted_wirings(card: CorpusCard) -> tuple[Wiring, ...]:
    """The card's wirings in an order that does not depend on how the card was written."""
    return tuple(sorted(card.backends, key=lambda wiring: (_KIND_ORDER.index(wiring.kind), wiring.backend)))


def _wire(corpus: SelectedCorpus, wiring: Wiring, event: QueryClassified, backends: BackendFacts) -> WiredLane:
    """Health is asked last: a lane that could not run anyway is not a fault of its backend."""
    card = corpus.card
    weight = biased_weight(event.classification.shape, wiring) * corpus.weight
    if weight <= 0.0:
        return _skip(card, wiring, LaneOutcome.SKIPPED_NO_INPUT, "switched off: its weight is 0")
    problem = filter_problem(card, wiring, event.query.filter)
    if problem is not None:
        return _skip(card, wiring, LaneOutcome.SKIPPED_FILTER, problem)
    found = lane_input(wiring.kind, card, event.query, event.classification)
    if isinstance(found, NoInput):
        return _skip(card, wiring, LaneOutcome.SKIPPED_NO_INPUT, found.reason)
    fault = backends.fault(wiring)
    if fault is not None:
        return _skip(card, wiring, LaneOutcome.SKIPPED_UNHEALTHY, _FAULTS[fault].format(wiring=wiring), fault)
    return ReadyLane(card, wiring, weight, found)


_FAULTS = {
    FallbackReason.DEGRADED: "the backend is degraded",
    FallbackReason.NO_WORKER: "no worker serves pool {wiring.pool}",
}


def keep_heaviest(wired: Sequence[WiredLane]) -> tuple[WiredLane, ...]:
    """Leave out the lightest lanes of a plan with more than `MAX_LANES`; of equal ones the later go first."""
    ready = [(-lane.weight, position) for position, lane in enumerate(wired) if isinstance(lane, ReadyLane)]
    dropped = {position for _, position in sorted(ready)[limits.MAX_LANES :]}
    return tuple(
        _crowded_out(lane) if position in dropped and isinstance(lane, ReadyLane) else lane
        for position, lane in enumerate(wired)
    )


def _crowded_out(lane: ReadyLane) -> SkippedLane:
    # The closest outcome there is: like a lane lost to health, it makes the answer partial. No backend is to blame, so
    # it has no fallback reason.
    reason = f"the plan is full: at most {limits.MAX_LANES} lanes, and {lane.weight:.4g} is among the lowest weights"
    return _skip(lane.card, lane.wiring, LaneOutcome.SKIPPED_UNHEALTHY, reason)


def _skip(
    card: CorpusCard, wiring: Wiring, outcome: LaneOutcome, reason: str, fault: FallbackReason | None = None
) -> SkippedLane:
    return SkippedLane(
        corpus=card.corpus,
        kind=wiring.kind,
        backend=wiring.backend,
        outcome=outcome,
        reason=reason,
        fallback_reason=fault,
    )


def name_lanes(ready: Sequence[ReadyLane], event: QueryClassified) -> tuple[Lane, ...]:
    """The lanes of the plan, in order, each with its name and the filter digest its worker must attest."""
    names: list[str] = []
    for lane in ready:
        names.append(lane_name(lane.wiring.kind, lane.card.corpus, lane.wiring.backend, names))
    corpora = {lane.card.corpus for lane in ready}
    digests = {corpus: digest(event.tenant, corpus, event.query.filter) for corpus in corpora}
    return tuple(
        Lane(
            name=name,
            corpus=lane.card.corpus,
            kind=lane.wiring.kind,
            backend=lane.wiring.backend,
            pool=lane.wiring.pool,
            weight=lane.weight,
            window=event.query.window,
            filter_digest=digests[lane.card.corpus],
        )
        for name, lane in zip(names, ready, strict=True)
    )
