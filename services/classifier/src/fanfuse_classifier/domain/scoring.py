"""The default scorer: the dot product of a query's terms with each card's term weights.

In: a query's texts and the cards of its tenant. Out: one raw score per corpus that has any. Each term counts once,
however often it is repeated. It knows no visibility, health or threshold.
"""

import math
from collections.abc import Mapping, Sequence

from fanfuse_classifier.domain.cards import CardIndex
from fanfuse_classifier.domain.terms import canonical, weighable_terms
from fanfuse_contracts.corpus import CorpusCard


class TermWeights:
    """A `CorpusClassifier` by term weights. Remembers each card's weights in their canonical form."""

    def __init__(self) -> None:
        self._index = CardIndex(_canonical_weights)

    def score(self, text: str, expansion_terms: Sequence[str], cards: Sequence[CorpusCard]) -> Mapping[str, float]:
        """Corpus id to score, for every corpus with a term in the text or the expansion terms."""
        weights = self._index.of(cards)
        hits: dict[str, list[float]] = {}
        for term in weighable_terms(text, *expansion_terms) & weights.keys() if weights else ():
            for corpus, weight in weights[term].items():
                hits.setdefault(corpus, []).append(weight)
        return {corpus: math.fsum(found) for corpus, found in hits.items()}


def _canonical_weights(card: CorpusCard) -> Mapping[str, float]:
    weights: dict[str, list[float]] = {}
    for term, weight in card.term_weights.items():
        if form := canonical(term):
            weights.setdefault(form, []).append(weight)
    return {form: math.fsum(values) for form, values in weights.items()}
