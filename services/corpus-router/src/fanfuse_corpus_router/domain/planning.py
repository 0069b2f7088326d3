"""Plans one query: visibility, selection, clarification, lanes, confirmation, decisions, commands.

In: a classified query, the tenant's cards, what is known of backends, the section `retrieval`, the broker's time. Out:
a plan with one command per lane, a clarification or a rejection. Tenant and query id are those of the event, which the
caller took from the subject.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import RetrievalConfig, RoutingConfig
from fanfuse_contracts.confirmation import primary_kinds
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import LaneOutcome, SourceKind
from fanfuse_contracts.plan import Clarification, Plan, Rejection, RetrieveCommand, SkippedLane
from fanfuse_corpus_router.domain import quorum, rejections
from fanfuse_corpus_router.domain.candidates import asked_of
from fanfuse_corpus_router.domain.clarify import clarification
from fanfuse_corpus_router.domain.commands import build_commands, build_lanes
from fanfuse_corpus_router.domain.confirm import refusal, unconfirmed, with_fallbacks
from fanfuse_corpus_router.domain.decisions import carried_out, described
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.inputs import QueryInputs
from fanfuse_corpus_router.domain.lanes import WiredCorpus
from fanfuse_corpus_router.domain.memory import Memory
from fanfuse_corpus_router.domain.readiness import SWITCHED_OFF, Readiness
from fanfuse_corpus_router.domain.selected import SelectedCorpus, Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.sharing import Search, group_lanes, heaviest

_PLAN_IS_FULL = f"the plan is full: at most {limits.MAX_LANES} lanes, and it is among those of the lowest weight"


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """The plan to join and the commands to send, one per lane and in the same order."""

    plan: Plan
    commands: tuple[RetrieveCommand, ...]


class Refused(NamedTuple):
    """Nobody is asked."""

    rejection: Rejection
    skipped: tuple[SkippedLane, ...] = ()
    """The lanes of the selected corpora that were left out, each with why; empty where no lane is the reason."""


Outcome = PlannedQuery | Clarification | Refused


def told(outcome: Outcome) -> Plan | Clarification | Rejection:
    """What is said of an outcome; nothing of what it sends."""
    match outcome:
        case PlannedQuery():
            return outcome.plan
        case Refused():
            return outcome.rejection
    return outcome


class Planner:
    """Plans under the section `retrieval`. What it remembers of earlier queries changes no plan, only its price."""

    def __init__(self, retrieval: RetrievalConfig) -> None:
        self._retrieval = retrieval
        self._memory = Memory(retrieval.quorum)

    def plan(
        self, event: QueryClassified, cards: Iterable[CorpusCard], backends: BackendFacts, now_s: float
    ) -> Outcome:
        """The whole decision of this service. `now_s`: the broker's time in seconds since the epoch."""
        cards = tuple(cards)
        if not cards:  # anybody can ask in the name of a tenant that does not exist: nothing is remembered of it
            return Refused(rejections.no_visible_corpus())
        known = self._memory.of(event.tenant)
        visible = known.visible(cards, event.query.principal)
        selection = select_corpora(visible, event, self._retrieval.routing)
        if isinstance(selection, Rejection):
            return Refused(selection)
        if (unclear := clarification(selection.corpora, event.query)) is not None:
            return unclear
        known.follow(backends)
        readiness = Readiness(event, selection.shape, known)
        corpora = _wire(event, selection, readiness)
        return _refusal(corpora, event) or self._carry_out(event, selection, corpora, readiness.inputs, now_s)

    def _carry_out(
        self,
        event: QueryClassified,
        selection: Selection,
        corpora: Sequence[WiredCorpus],
        inputs: QueryInputs,
        now_s: float,
    ) -> Outcome:
        retrieval = self._retrieval
        missing = (*selection.unconfirmed, *unconfirmed(corpora, now_s))
        kinds = _primary_kinds(corpora, event)
        first = {one.selected.card.corpus for one in corpora if one.source in kinds}
        searches, corpora = _searches(corpora, first, retrieval.routing)
        if (crowded_out := quorum.refusal(corpora)) is not None:
            return Refused(crowded_out, _skipped(corpora))
        weighed = f"{selection.shape} ({_shape_reason(event)})"
        lanes = build_lanes(searches, event)
        plan = Plan.of_checked(
            {
                "shape": selection.shape,
                "lanes": lanes,
                "skipped": _skipped(corpora),
                "corpus_decision": carried_out(selection.decision, corpora),
                "decisions": tuple([described(corpus, weighed) for corpus in corpora]),
                "unconfirmed": missing,
                "fusion": retrieval.fusion,
            }
        )
        return PlannedQuery(plan, build_commands(lanes, searches, event, inputs))


def plan_query(
    event: QueryClassified,
    cards: Iterable[CorpusCard],
    backends: BackendFacts,
    retrieval: RetrievalConfig,
    now_s: float,
) -> Outcome:
    """`Planner.plan` for a single query."""
    return Planner(retrieval).plan(event, cards, backends, now_s)


def plan_in_time(
    event: QueryClassified,
    remaining_ms: float,
    cards: Iterable[CorpusCard],
    backends: BackendFacts,
    planner: Planner,
    now_s: float,
) -> Outcome:
    """`Planner.plan`, unless the query's budget is over: then nobody is asked for anything."""
    if remaining_ms <= 0.0:
        return Refused(rejections.expired(event.query.budget_ms))
    return planner.plan(event, cards, backends, now_s)


def _wire(event: QueryClassified, selection: Selection, readiness: Readiness) -> tuple[WiredCorpus, ...]:
    corpora = tuple([readiness.wire(corpus) for corpus in selection.corpora])
    if not any(corpus.lanes.down and corpus.card.fallbacks for corpus in corpora):
        return corpora
    rows = {row.corpus: row for row in event.corpus_scores}

    def stand_in(card: CorpusCard, down: WiredCorpus) -> WiredCorpus:
        asked = asked_of(card, rows.get(card.corpus), event.query.capability)
        return readiness.wire(SelectedCorpus(card, down.selected.weight, asked=asked), down.card.corpus)

    return with_fallbacks(corpora, {card.corpus: card for card in selection.standby}, stand_in)


def _primary_kinds(corpora: Sequence[WiredCorpus], event: QueryClassified) -> frozenset[SourceKind]:
    return primary_kinds(corpora, pinned=event.query.corpora is not None)


def _refusal(corpora: Sequence[WiredCorpus], event: QueryClassified) -> Refused | None:
    """Why nobody is asked: a lane that must answer, whoever could confirm, or every lane is lost."""
    rejection = quorum.refusal(corpora) or refusal(corpora, _primary_kinds(corpora, event))
    if rejection is None and not any(corpus.lanes.ready for corpus in corpora):
        rejection = _nothing_to_ask(_skipped(corpora))
    return Refused(rejection, _skipped(corpora)) if rejection is not None else None


def _skipped(corpora: Iterable[WiredCorpus]) -> tuple[SkippedLane, ...]:
    return tuple([lane for corpus in corpora for lane in corpus.lanes.skipped])


def _nothing_to_ask(skipped: Sequence[SkippedLane]) -> Rejection:
    """The filter is to blame only if no lane that counts could have applied it."""
    counting = [lane for lane in skipped if lane.reason != SWITCHED_OFF]
    if counting and all(lane.outcome is LaneOutcome.SKIPPED_FILTER for lane in counting):
        return rejections.unsupported_filter(lane.reason for lane in counting)
    return rejections.no_lane(skipped)


def _searches(
    corpora: Sequence[WiredCorpus], first: set[str], routing: RoutingConfig
) -> tuple[tuple[Search, ...], tuple[WiredCorpus, ...]]:
    """What is searched, and the corpora without the lanes that a full plan has no place for."""
    kept, dropped = heaviest(group_lanes(corpora, fan_out=routing.fan_out), first)
    if not dropped:
        return kept, tuple(corpora)
    crowded_out = {lane.key for search in dropped for lane in search.lanes}
    return kept, tuple([one._replace(lanes=one.lanes.without(crowded_out, _PLAN_IS_FULL)) for one in corpora])


def _shape_reason(event: QueryClassified) -> str:
    earlier = event.query.decision
    if earlier is not None and earlier.shape is not None:
        return "taken from an earlier decision"
    return event.classification.reason
