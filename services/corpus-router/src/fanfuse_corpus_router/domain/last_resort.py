"""The corpus that is held back, and searched only where a query would otherwise find no corpus at all.

In: visible cards, scores and the refusal that would stand. Out: a `Selection` with strategy UNCONSTRAINED, or that
refusal. It never answers for a source that cannot confirm, and never where the caller names corpora.
"""

from collections.abc import Iterable

from fanfuse_contracts.classification import CorpusScore, QueryClassified
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import RejectionCode, Strategy
from fanfuse_contracts.plan import Rejection
from fanfuse_corpus_router.domain.candidates import excluded, excluded_or_out_of_scope, rank_candidates
from fanfuse_corpus_router.domain.corpus_decision import Listing, decide
from fanfuse_corpus_router.domain.cutoff import MIN_LISTED
from fanfuse_corpus_router.domain.selected import SelectedCorpus, Selection
from fanfuse_corpus_router.domain.visibility import Cards

_WANT_OF_A_CORPUS = {
    RejectionCode.NO_VISIBLE_CORPUS: "no other corpus is visible",
    RejectionCode.ALL_EXCLUDED: "every other visible corpus is excluded by a rule",
    RejectionCode.PIN_REQUIRED: "strategy explicit is configured and the query pins no corpus",
}


def held_back(visible: Cards, scores: Iterable[CorpusScore], routing: RoutingConfig) -> CorpusCard | None:
    """The configured corpus; None where it is not public, does not exist, or is excluded by a rule."""
    name = routing.unconstrained_corpus
    if name is None or any(row.excluded for row in scores if row.corpus == name):
        return None
    card = visible.get(name)
    return card if card is not None and card.public else None


def select_last_resort(
    held: CorpusCard,
    others: Cards,
    event: QueryClassified,
    routing: RoutingConfig,
    refusal: Rejection,
) -> Selection | Rejection:
    """The held back corpus alone, if `refusal` is for want of a corpus and its card can confirm what is asked."""
    why = _WANT_OF_A_CORPUS.get(refusal.code)
    if why is None:
        return refusal
    query, temperature = event.query, routing.learned_temperature
    mine = rank_candidates(
        {held.corpus: held}, event.corpus_scores, temperature, excluded_or_out_of_scope, query.capability
    ).allowed.first(1)
    if not mine:
        return refusal

    def reason(position: int) -> str:
        return "not pinned" if position else f"the last resort: {why}"

    rest = rank_candidates(others, event.corpus_scores, temperature, excluded)
    # Nobody competes with the last resort: the others have no probability.
    runners_up = [one._replace(probability=0.0) for one in rest.allowed.first(MIN_LISTED - 1)]
    listing = Listing((*mine, *runners_up), 1, 1 + len(rest.allowed), reason, rest.shut)

    return Selection(
        decision=decide(Strategy.UNCONSTRAINED, routing, listing, f"the last resort: {why}"),
        corpora=(SelectedCorpus(held, 1.0, asked=mine[0].asked),),
        shape=event.classification.shape,
    )
