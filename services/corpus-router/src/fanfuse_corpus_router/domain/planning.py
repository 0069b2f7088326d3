"""Plans one query: visibility, selection, lanes, decisions, commands.

In: a classified query, the tenant's cards, what is known of backends, the routing options. Out: a plan with one command
per lane, or a rejection. Tenant and query id are those of the event, which the caller took from the subject.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.plan import Plan, Rejection, RetrieveCommand, SkippedLane
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.bias import biased_weight
from fanfuse_corpus_router.domain.commands import build_command
from fanfuse_corpus_router.domain.decisions import describe
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.filtering import filter_problem
from fanfuse_corpus_router.domain.lanes import (
    ReadyLane,
    WiredLane,
    keep_heaviest,
    name_lanes,
    sorted_wirings,
    wire_lanes,
)
from fanfuse_corpus_router.domain.selected import Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.visibility import visible_corpora


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """The plan to join and the commands to send, one per lane and in the same order."""

    plan: Plan
    commands: tuple[RetrieveCommand, ...]


def plan_query(
    event: QueryClassified, cards: Iterable[CorpusCard], backends: BackendFacts, routing: RoutingConfig
) -> PlannedQuery | Rejection:
    """The whole decision of this service."""
    visible = visible_corpora(cards, event.tenant, event.query.principal)
    selection = select_corpora(visible, event, routing)
    if isinstance(selection, Rejection):
        return selection
    wired = keep_heaviest(wire_lanes(selection.corpora, event, backends))
    ready = [lane for lane in wired if isinstance(lane, ReadyLane)]
    if not ready:
        return _nothing_to_ask(event, selection, wired)
    return _planned(event, selection, wired, ready)


def plan_in_time(
    event: QueryClassified,
    remaining_ms: float,
    cards: Iterable[CorpusCard],
    backends: BackendFacts,
    routing: RoutingConfig,
) -> PlannedQuery | Rejection:
    """`plan_query`, unless the query's budget is over: then nobody is asked for anything."""
    if remaining_ms <= 0.0:
        return rejections.expired(event.query.budget_ms)
    return plan_query(event, cards, backends, routing)


def _nothing_to_ask(event: QueryClassified, selection: Selection, wired: Sequence[WiredLane]) -> Rejection:
    """The filter is to blame only if no lane that counts could have applied it."""
    problems = [
        filter_problem(corpus.card, wiring, event.query.filter)
        for corpus in selection.corpora
        for wiring in sorted_wirings(corpus.card)
        if biased_weight(event.classification.shape, wiring) > 0.0
    ]
    named = [problem for problem in problems if problem is not None]
    if named and len(named) == len(problems):
        return rejections.unsupported_filter(named)
    return rejections.no_lane([lane for lane in wired if isinstance(lane, SkippedLane)])


def _planned(
    event: QueryClassified, selection: Selection, wired: Sequence[WiredLane], ready: Sequence[ReadyLane]
) -> PlannedQuery:
    lanes = name_lanes(ready, event)
    of_corpus = _by_corpus(wired)
    plan = Plan(
        shape=event.classification.shape,
        lanes=lanes,
        skipped=tuple(lane for lane in wired if isinstance(lane, SkippedLane)),
        corpus_decision=selection.decision,
        decisions=tuple(
            describe(corpus.card, of_corpus.get(corpus.card.corpus, ()), event.classification)
            for corpus in selection.corpora
        ),
    )
    commands = tuple(build_command(lane, one.input, event) for lane, one in zip(lanes, ready, strict=True))
    return PlannedQuery(plan, commands)


def _by_corpus(wired: Sequence[WiredLane]) -> dict[str, list[WiredLane]]:
    grouped: dict[str, list[WiredLane]] = {}
    for lane in wired:
        corpus = lane.card.corpus if isinstance(lane, ReadyLane) else lane.corpus
        grouped.setdefault(corpus, []).append(lane)
    return grouped
