"""Selects the corpora to search: EXPLICIT pin, else STATIC_RULES, else LEARNED, else ALL; UNCONSTRAINED at the last.

In: visible cards, the classified query and the routing options. Out: a `Selection` or a rejection. Never selects a
corpus that is invisible, and never an excluded one unless the caller pinned it: rules are about relevance, not about
access.
"""

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Strategy
from fanfuse_contracts.plan import Rejection, Unconfirmed
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.candidates import (
    Ranking,
    able_to,
    corpus_weights,
    excluded,
    excluded_or_out_of_scope,
    rank_candidates,
)
from fanfuse_corpus_router.domain.corpus_decision import Listing, decide, out_of_scope
from fanfuse_corpus_router.domain.cutoff import Cutoff, cut_off
from fanfuse_corpus_router.domain.explicit import select_pinned
from fanfuse_corpus_router.domain.last_resort import held_back, select_last_resort
from fanfuse_corpus_router.domain.selected import SelectedCorpus, Selection
from fanfuse_corpus_router.domain.sticky import select_sticky
from fanfuse_corpus_router.domain.visibility import Cards


def select_corpora(visible: Cards, event: QueryClassified, routing: RoutingConfig) -> Selection | Rejection:
    """Apply the strategies in their order of precedence."""
    if not visible:
        return rejections.no_visible_corpus()
    if event.query.decision is not None:
        return select_sticky(visible, event, event.query.decision, routing)
    if event.query.corpora is not None:
        return select_pinned(visible, event, event.query.corpora, routing)
    capability = event.query.capability
    able = visible if capability is None else able_to(capability, visible)
    if capability is not None and not able:
        return rejections.unknown_capability(capability)
    held = held_back(able, event.corpus_scores, routing)
    ordinary = able if held is None else {corpus: card for corpus, card in able.items() if card is not held}
    outcome = _select_freely(ordinary, event, routing)
    if isinstance(outcome, Rejection) and held is not None:
        return select_last_resort(held, ordinary, event, routing, outcome)
    return outcome


def _select_freely(cards: Cards, event: QueryClassified, routing: RoutingConfig) -> Selection | Rejection:
    if not cards:
        return rejections.no_visible_corpus()
    if routing.strategy is Strategy.EXPLICIT:
        return rejections.pin_required()
    ranking = _rank(cards, event, routing, obey_scope=True)
    if not ranking.allowed:
        return _refuse(ranking)
    strategy = _strategy(ranking, routing)
    cutoff = cut_off(strategy, ranking.allowed, routing)
    return _selection(strategy, routing, ranking, cutoff, event, _missed(cards, event, routing, ranking))


def _rank(cards: Cards, event: QueryClassified, routing: RoutingConfig, *, obey_scope: bool) -> Ranking:
    shut = excluded_or_out_of_scope if obey_scope else excluded
    return rank_candidates(cards, event.corpus_scores, routing.learned_temperature, shut, event.query.capability)


def _refuse(ranking: Ranking) -> Rejection:
    refused = [candidate for candidate in ranking.shut if not candidate.excludes]
    if refused:
        return rejections.out_of_scope(sorted({topic for candidate in refused for topic in candidate.topics}))
    return rejections.all_excluded(sorted({rule for candidate in ranking.shut for rule in candidate.excludes}))


def _missed(cards: Cards, event: QueryClassified, routing: RoutingConfig, ranking: Ranking) -> tuple[Unconfirmed, ...]:
    """The corpora that would be searched if their cards did not say that they cannot confirm what is asked."""
    if not any(candidate.topics and not candidate.excludes for candidate in ranking.shut):
        return ()
    whole = _rank(cards, event, routing, obey_scope=False)
    cutoff = cut_off(_strategy(whole, routing), whole.allowed, routing)
    return out_of_scope(cutoff.selected)


def _strategy(ranking: Ranking, routing: RoutingConfig) -> Strategy:
    """The effective strategy: the first one that has something to go by, up to the configured one."""
    if routing.strategy is Strategy.ALL:
        return Strategy.ALL
    if any(one.boosts for one in ranking.allowed.spoken_of) or any(one.excludes for one in ranking.shut):
        return Strategy.STATIC_RULES
    tells_apart = routing.strategy is Strategy.LEARNED and ranking.allowed.differ
    return Strategy.LEARNED if tells_apart else Strategy.ALL


def _selection(
    strategy: Strategy,
    routing: RoutingConfig,
    ranking: Ranking,
    cutoff: Cutoff,
    event: QueryClassified,
    unconfirmed: tuple[Unconfirmed, ...],
) -> Selection:
    chosen = cutoff.selected
    listing = Listing(cutoff.listed, cutoff.selected_n, len(cutoff.order), cutoff.reason, ranking.shut)
    return Selection(
        decision=decide(strategy, routing, listing, _why(strategy, cutoff, event, routing)),
        corpora=tuple(
            [
                SelectedCorpus(one.card, weight, None, one.asked)
                for one, weight in zip(chosen, corpus_weights(chosen), strict=True)
            ]
        ),
        shape=event.classification.shape,
        standby=_standby(cutoff),
        unconfirmed=unconfirmed,
    )


def _standby(cutoff: Cutoff) -> tuple[CorpusCard, ...]:
    named = {name for one in cutoff.selected for name in one.card.fallbacks}
    if not named:
        return ()
    rest = cutoff.order.first(len(cutoff.order))[cutoff.selected_n :]
    return tuple(candidate.card for candidate in rest if candidate.card.corpus in named)


def _why(strategy: Strategy, cutoff: Cutoff, event: QueryClassified, routing: RoutingConfig) -> str:
    count = f"{cutoff.selected_n} of {len(cutoff.order)} that may be searched"
    named = f", of those that can answer {event.query.capability!r}" if event.query.capability is not None else ""
    return f"{_because(strategy, routing)}: {count}{named}"


def _because(strategy: Strategy, routing: RoutingConfig) -> str:
    if strategy is Strategy.STATIC_RULES:
        return "a routing rule fired"
    if strategy is Strategy.LEARNED:
        return "the corpora's scores differ"
    match routing.strategy:
        case Strategy.ALL:
            return "strategy all is configured"
        case Strategy.STATIC_RULES:
            return "no routing rule fired"
        case _:
            return "nothing tells the corpora apart"
