"""The default scorer: the dot product of a query's terms with each card's term weights.

In: a query's texts and the cards of its tenant. Out: one raw score per corpus that has any. Each term counts once,
however often it is repeated. It knows no visibility, health or threshold.
"""

import math
from collections.abc import Mapping, Sequence

from fanfuse_classifier.domain.terms import canonical, weighable_terms
from fanfuse_contracts.corpus import CorpusCard


class TermWeights:
    """A `CorpusClassifier` by term weights. Remembers each card's weights in their canonical form."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[CorpusCard, Mapping[str, float]]] = {}

    def score(self, text: str, expansion_terms: Sequence[str], cards: Sequence[CorpusCard]) -> Mapping[str, float]:
        """Corpus id to score, for every corpus with a term in the text or the expansion terms."""
        weighted = [card for card in cards if card.term_weights]
        terms = weighable_terms(text, *expansion_terms) if weighted else frozenset()
        scores: dict[str, float] = {}
        for card in weighted:
            weights = self._weights(card)
            hits = [weights[term] for term in sorted(terms & weights.keys())]
            if hits:
                scores[card.corpus] = math.fsum(hits)
        return scores

    def _weights(self, card: CorpusCard) -> Mapping[str, float]:
        key = (card.tenant, card.corpus)
        known = self._known.get(key)
        if known is None or known[0] is not card:
            known = self._known[key] = (card, _canonical_weights(card))
        return known[1]


def _canonical_weights(card: CorpusCard) -> Mapping[str, float]:
    weights: dict[str, list[float]] = {}
    for term, weight in card.term_weights.items():
        if form := canonical(term):
            weights.setdefault(form, []).append(weight)
    return {form: math.fsum(values) for form, values in weights.items()}
