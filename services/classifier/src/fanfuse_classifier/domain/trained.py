"""The trained scorer: calibrated log-odds of each corpus against a floor.

In: a query's texts and the cards of its tenant. Out: score = ln(P(corpus) / floor) for the corpora of the model, so a
score is positive where the probability is above the floor, and a softmax of the scores at temperature 1 gives the
probabilities back. A score depends on the texts, the model and the corpus's own card, never on which other corpora
exist. A corpus that the model does not know starts at the floor: its score is that of its card's term weights.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fanfuse_classifier.domain.feature_space import FeatureSpace
from fanfuse_classifier.domain.features import read_features
from fanfuse_classifier.domain.profile import LinearModel
from fanfuse_classifier.domain.scoring import TermWeights
from fanfuse_contracts.corpus import CorpusCard

Floats = NDArray[np.float64]


class TrainedScorer:
    """A `CorpusClassifier` by a model. `tenant`: whose corpora it knows; None: those of every tenant."""

    def __init__(self, model: LinearModel, tenant: str | None = None) -> None:
        self._tenant = tenant
        self._log_floor = math.log(model.floor)
        self._space = _space(model)
        self._weights = _weights(model, self._space)
        self._bias = np.array(model.bias) / model.temperature
        self._place = {corpus: place for place, corpus in enumerate(model.corpora)}.get
        self._term_weights = TermWeights()

    def score(self, text: str, expansion_terms: Sequence[str], cards: Sequence[CorpusCard]) -> Mapping[str, float]:
        """Corpus id to score: every card of the model, and other ones with a weighted term in the texts."""
        places = [self._place(card.corpus) if self._tenant in (None, card.tenant) else None for card in cards]
        unknown = [card for card, place in zip(cards, places, strict=True) if place is None]
        scores = dict(self._term_weights.score(text, expansion_terms, unknown)) if unknown else {}
        if len(unknown) < len(cards):
            row = (self.log_probabilities(text, expansion_terms) - self._log_floor).tolist()
            scores |= {card.corpus: row[place] for card, place in zip(cards, places, strict=True) if place is not None}
        return scores

    def log_probabilities(self, text: str, expansion_terms: Sequence[str] = ()) -> Floats:
        """ln P of each corpus, in the order of the model."""
        columns, values = self._space.vector(read_features(text, expansion_terms))
        # Gathering rows is most of the work for many corpora: half as many bytes, half the time.
        logits = values.astype(np.float32) @ self._weights.take(columns, axis=0) + self._bias
        top = logits.max()
        log_probabilities: Floats = logits - (top + np.log(np.exp(logits - top).sum()))
        return log_probabilities


def _space(model: LinearModel) -> FeatureSpace:
    frequencies = {block: {row.name: row.queries for row in rows} for block, rows in model.features.items()}
    return FeatureSpace(frequencies, model.queries, model.lengths)


def _weights(model: LinearModel, space: FeatureSpace) -> NDArray[np.float32]:
    """Column × corpus, divided by the temperature; 0 for unknown features."""
    weights = np.zeros((space.width, len(model.corpora)))
    for block, rows in model.features.items():
        if columns := space.columns_of(block):
            weights[columns] = [row.weights for row in rows]
    return (weights / model.temperature).astype(np.float32)
