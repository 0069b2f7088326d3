"""Selects what an earlier decision selected, so that the next query of a session stays with its sources.

In: visible cards, the decision and the classified query. Out: a `Selection` or a rejection. Only shape, corpora and
weights are taken over, and only of corpora that are visible now.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import StickyDecision
from fanfuse_corpus_router.domain.candidates import Candidate
from fanfuse_corpus_router.domain.explicit import explicit_selection, named_corpora
from fanfuse_corpus_router.domain.selected import SelectedCorpus, Selection
from fanfuse_corpus_router.domain.visibility import Cards


def select_sticky(
    visible: Cards, event: QueryClassified, decision: StickyDecision, routing: RoutingConfig
) -> Selection | Rejection:
    """The decision's corpora ∩ visible, heaviest first, with the decision's weights."""
    earlier = {one.corpus: one for one in decision.corpora}
    named = named_corpora(visible, event, tuple(earlier), routing)
    if isinstance(named, Rejection):
        return named

    def heaviest(candidate: Candidate) -> tuple[float, str]:
        return -earlier[candidate.card.corpus].weight, candidate.card.corpus

    named = replace(named, candidates=tuple(sorted(named.candidates, key=heaviest)))
    stay = [earlier[candidate.card.corpus] for candidate in named.candidates]
    corpora = tuple(
        SelectedCorpus(candidate.card, weight, one.weights, candidate.asked)
        for candidate, one, weight in zip(named.candidates, stay, shares([one.weight for one in stay]), strict=True)
    )
    each = [f"taken from an earlier decision, weight {corpus.weight:.3g}" for corpus in corpora]
    shape = decision.shape or event.classification.shape
    return explicit_selection(named, corpora, routing, ("taken from an earlier decision", each), shape)


def shares(weights: Sequence[float]) -> tuple[float, ...]:
    """The weights as they are, or their shares of the sum where that is more than 1."""
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights) if total > 1.0 else tuple(weights)
