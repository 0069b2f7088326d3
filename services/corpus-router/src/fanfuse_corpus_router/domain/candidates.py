"""Ranks the corpora that may be searched, with the probability of each.

In: visible cards and the classifier's raw scores. Out: candidates, best first. Scores of corpora that are not among the
cards are ignored: an invisible corpus never changes a probability.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fanfuse_contracts import limits
from fanfuse_contracts.classification import CorpusScore, Effect
from fanfuse_contracts.corpus import CorpusCard


@dataclass(frozen=True, slots=True)
class Candidate:
    """One visible corpus. `boosts` and `excludes` name the static rules that fired for it."""

    card: CorpusCard
    score: float
    probability: float
    boosts: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


def softmax(scores: Sequence[float], temperature: float) -> list[float]:
    """Probabilities that sum to 1; `temperature` > 0, lower is sharper. Safe for any finite score."""
    top = max(scores, default=0.0)
    exponentials = [math.exp((score - top) / temperature) for score in scores]
    total = math.fsum(exponentials)
    return [value / total for value in exponentials]


def rank_candidates(
    cards: Iterable[CorpusCard], scores: Iterable[CorpusScore], temperature: float, *, obey_excludes: bool
) -> tuple[Candidate, ...]:
    """Order by score, then corpus id. Excluded corpora come last, with probability 0: no one may search them."""
    rows = {row.corpus: row for row in scores}
    ordered = sorted(
        ((card, rows.get(card.corpus, CorpusScore(corpus=card.corpus, score=0.0))) for card in cards),
        key=lambda pair: (-pair[1].score, pair[0].corpus),
    )
    allowed = [(card, row) for card, row in ordered if not (obey_excludes and row.excluded)]
    shut = [(card, row) for card, row in ordered if obey_excludes and row.excluded]
    chances = softmax([row.score for _, row in allowed], temperature) + [0.0] * len(shut)
    return tuple(
        Candidate(card, row.score, chance, _fired(row, Effect.BOOST), _fired(row, Effect.EXCLUDE))
        for (card, row), chance in zip(allowed + shut, chances, strict=True)
    )


def corpus_weights(selected: Sequence[Candidate]) -> tuple[float, ...]:
    """Each one's share of the selected probability, at least `MIN_CORPUS_WEIGHT`; a single corpus weighs exactly 1."""
    if len(selected) == 1:
        return (1.0,)
    total = math.fsum(candidate.probability for candidate in selected)
    return tuple(max(candidate.probability / total, limits.MIN_CORPUS_WEIGHT) for candidate in selected)


def _fired(row: CorpusScore, effect: Effect) -> tuple[str, ...]:
    return tuple(sorted({rule.rule for rule in row.fired if rule.effect is effect}))
