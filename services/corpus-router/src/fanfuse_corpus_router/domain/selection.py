"""Selects the corpora to search: EXPLICIT pin, else STATIC_RULES, else LEARNED, else ALL.

In: visible cards, raw scores, the caller's pin and the routing options. Out: a `Selection` or a rejection. Never
selects a corpus that is invisible, and never an excluded one unless the caller pinned it: rules are about relevance,
not about access.
"""

from collections.abc import Iterable, Sequence

from fanfuse_contracts.classification import CorpusScore, QueryClassified
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Shape, Strategy
from fanfuse_contracts.plan import CorpusCandidate, CorpusRoutingDecision, Rejection
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.candidates import Candidate, corpus_weights, rank_candidates
from fanfuse_corpus_router.domain.cutoff import Cutoff, cut_off
from fanfuse_corpus_router.domain.selected import SelectedCorpus, Selection

MAX_LISTED_CANDIDATES = 64
"""Candidates kept in a decision, best first: a tenant with thousands of corpora must not fill the answer."""


def select_corpora(
    visible: Sequence[CorpusCard], event: QueryClassified, routing: RoutingConfig
) -> Selection | Rejection:
    """Apply the strategies in their order of precedence. The result does not depend on the order of `visible`."""
    scores, shape = event.corpus_scores, event.classification.shape
    if not visible:
        return rejections.no_visible_corpus()
    if event.query.corpora is not None:
        return _select_pinned(visible, scores, event.query.corpora, routing, shape)
    ranked = rank_candidates(visible, scores, routing.learned_temperature, obey_excludes=True)
    allowed = [candidate for candidate in ranked if not candidate.excludes]
    if not allowed:
        return rejections.all_excluded(sorted({rule for candidate in ranked for rule in candidate.excludes}))
    strategy = _strategy(ranked)
    cutoff = cut_off(strategy, allowed, routing)
    return _selection(strategy, ranked, cutoff, _why(strategy, allowed, cutoff), shape)


def _select_pinned(
    visible: Sequence[CorpusCard],
    scores: Iterable[CorpusScore],
    pin: Sequence[str],
    routing: RoutingConfig,
    shape: Shape,
) -> Selection | Rejection:
    known = [card for card in visible if card.corpus in pin]
    unknown = sorted(set(pin) - {card.corpus for card in known})
    if not known:
        return rejections.unknown_corpus(unknown)
    ranked = rank_candidates(known, scores, routing.learned_temperature, obey_excludes=False)
    reason = "pinned by the caller" + (f"; {rejections.unknown_names(unknown)}" if unknown else "")
    return _selection(Strategy.EXPLICIT, ranked, Cutoff(len(ranked), ("pinned",) * len(ranked)), reason, shape)


def _strategy(ranked: Sequence[Candidate]) -> Strategy:
    if any(candidate.boosts or candidate.excludes for candidate in ranked):
        return Strategy.STATIC_RULES
    return Strategy.LEARNED if len({candidate.probability for candidate in ranked}) > 1 else Strategy.ALL


def _why(strategy: Strategy, allowed: Sequence[Candidate], cutoff: Cutoff) -> str:
    count = f"{cutoff.selected_n} of {len(allowed)} that may be searched"
    match strategy:
        case Strategy.STATIC_RULES:
            return f"a routing rule fired: {count}"
        case Strategy.LEARNED:
            return f"the corpora's scores differ: {count}"
        case _:
            return f"nothing tells the corpora apart: {count}"


def _selection(strategy: Strategy, ranked: Sequence[Candidate], cutoff: Cutoff, reason: str, shape: Shape) -> Selection:
    chosen = ranked[: cutoff.selected_n]
    rows = tuple(
        CorpusCandidate(
            corpus=candidate.card.corpus,
            score=candidate.score,
            probability=candidate.probability,
            selected=position < cutoff.selected_n,
            reason=cutoff.reasons[position] if position < len(cutoff.reasons) else _excluded(candidate),
        )
        for position, candidate in enumerate(ranked[:MAX_LISTED_CANDIDATES])
    )
    decision = CorpusRoutingDecision(
        strategy=strategy,
        selected_corpora=tuple(candidate.card.corpus for candidate in chosen),
        scores=rows,
        # Every selected corpus is searched in lanes of its own.
        fan_out=True,
        candidate_n=len(ranked),
        reason=reason,
    )
    weights = corpus_weights(chosen)
    corpora = tuple(SelectedCorpus(chosen_one.card, weight) for chosen_one, weight in zip(chosen, weights, strict=True))
    return Selection(decision, corpora, shape)


def _excluded(candidate: Candidate) -> str:
    return f"excluded by rule {rejections.listed(candidate.excludes)}"
