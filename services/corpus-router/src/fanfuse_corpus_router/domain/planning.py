"""Plans one query: visibility, selection, clarification, lanes, confirmation, decisions, commands.

In: a classified query, the tenant's cards, what is known of backends, the section `retrieval`, the broker's time. Out:
a plan with one command per lane, a clarification or a rejection. Tenant and query id are those of the event, which the
caller took from the subject.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fanfuse_contracts import limits
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import RetrievalConfig, RoutingConfig
from fanfuse_contracts.confirmation import primary_kinds
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import LaneOutcome
from fanfuse_contracts.plan import Clarification, Plan, Rejection, RetrieveCommand
from fanfuse_corpus_router.domain import quorum, rejections
from fanfuse_corpus_router.domain.candidates import asked_of
from fanfuse_corpus_router.domain.clarify import clarification
from fanfuse_corpus_router.domain.commands import build_commands, build_lanes
from fanfuse_corpus_router.domain.confirm import refusal, unconfirmed, with_fallbacks
from fanfuse_corpus_router.domain.decisions import carried_out, describe
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.lanes import SWITCHED_OFF, LaneWiring, WiredCorpus
from fanfuse_corpus_router.domain.selected import SelectedCorpus, Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.sharing import Search, group_lanes, heaviest
from fanfuse_corpus_router.domain.visibility import visible_corpora


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """The plan to join and the commands to send, one per lane and in the same order."""

    plan: Plan
    commands: tuple[RetrieveCommand, ...]


Outcome = PlannedQuery | Clarification | Rejection


def plan_query(
    event: QueryClassified,
    cards: Iterable[CorpusCard],
    backends: BackendFacts,
    retrieval: RetrievalConfig,
    now_s: float,
) -> Outcome:
    """The whole decision of this service. `now_s`: the broker's time in seconds since the epoch."""
    routing = retrieval.routing
    visible = visible_corpora(cards, event.tenant, event.query.principal)
    selection = select_corpora(visible, event, routing)
    if isinstance(selection, Rejection):
        return selection
    if (unclear := clarification(selection.corpora, event.query)) is not None:
        return unclear
    wiring = LaneWiring(event, selection.shape, backends, retrieval.quorum.get(event.tenant))
    corpora = _wire(event, selection, wiring)
    kinds = primary_kinds(corpora, pinned=event.query.corpora is not None)
    if (unanswerable := quorum.refusal(corpora) or refusal(corpora, kinds)) is not None:
        return unanswerable
    if not any(corpus.ready for corpus in corpora):
        return _nothing_to_ask(corpora)
    missing = (*selection.unconfirmed, *unconfirmed(corpora, now_s))
    searches, corpora = _searches(corpora, {one.card.corpus for one in corpora if one.source in kinds}, routing)
    if (crowded_out := quorum.refusal(corpora)) is not None:
        return crowded_out
    shape_reason = _shape_reason(event)
    # Rows are validated with the plan, in one go: half the time of one model after the other.
    plan = Plan.model_validate(
        {
            "shape": selection.shape,
            "lanes": build_lanes(searches, event),
            "skipped": tuple(lane for corpus in corpora for lane in corpus.skipped),
            "corpus_decision": carried_out(
                selection.decision, corpora, fan_out=not any(one.shared for one in searches)
            ),
            "decisions": tuple(describe(corpus, selection.shape, shape_reason) for corpus in corpora),
            "unconfirmed": missing,
            "fusion": retrieval.fusion,
        }
    )
    return PlannedQuery(plan, build_commands(plan.lanes, searches, event))


def plan_in_time(
    event: QueryClassified,
    remaining_ms: float,
    cards: Iterable[CorpusCard],
    backends: BackendFacts,
    retrieval: RetrievalConfig,
    now_s: float,
) -> Outcome:
    """`plan_query`, unless the query's budget is over: then nobody is asked for anything."""
    if remaining_ms <= 0.0:
        return rejections.expired(event.query.budget_ms)
    return plan_query(event, cards, backends, retrieval, now_s)


def _wire(event: QueryClassified, selection: Selection, wiring: LaneWiring) -> tuple[WiredCorpus, ...]:
    corpora = tuple(wiring.wire(corpus) for corpus in selection.corpora)
    if not any(corpus.down and corpus.card.fallbacks for corpus in corpora):
        return corpora
    rows = {row.corpus: row for row in event.corpus_scores}

    def stand_in(card: CorpusCard, down: WiredCorpus) -> WiredCorpus:
        asked = asked_of(card, rows.get(card.corpus), event.query.capability)
        return wiring.wire(SelectedCorpus(card, down.selected.weight, asked=asked), down.card.corpus)

    return with_fallbacks(corpora, {card.corpus: card for card in selection.standby}, stand_in)


def _nothing_to_ask(corpora: Iterable[WiredCorpus]) -> Rejection:
    """The filter is to blame only if no lane that counts could have applied it."""
    skipped = [lane for corpus in corpora for lane in corpus.skipped]
    counting = [lane for lane in skipped if lane.reason != SWITCHED_OFF]
    if counting and all(lane.outcome is LaneOutcome.SKIPPED_FILTER for lane in counting):
        return rejections.unsupported_filter(lane.reason for lane in counting)
    return rejections.no_lane(skipped)


def _searches(
    corpora: Sequence[WiredCorpus], first: set[str], routing: RoutingConfig
) -> tuple[tuple[Search, ...], tuple[WiredCorpus, ...]]:
    """What is searched, and the corpora without the lanes that a full plan has no place for."""
    ready = [lane for corpus in corpora for lane in corpus.ready]
    kept, dropped = heaviest(group_lanes(ready, fan_out=routing.fan_out), first)
    if not dropped:
        return kept, tuple(corpora)
    crowded_out = {lane.key for search in dropped for lane in search.members}
    reason = f"the plan is full: at most {limits.MAX_LANES} lanes, and it is among those of the lowest weight"
    return kept, tuple(corpus.without(crowded_out, reason) for corpus in corpora)


def _shape_reason(event: QueryClassified) -> str:
    earlier = event.query.decision
    if earlier is not None and earlier.shape is not None:
        return "taken from an earlier decision"
    return event.classification.reason
