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
    judged = [_Judged(card, rows.get(card.corpus), obey_excludes) for card in cards]
    judged.sort(key=lambda one: (one.shut, -one.score, one.card.corpus))
    allowed = [one for one in judged if not one.shut]
    chances = softmax([one.score for one in allowed], temperature) + [0.0] * (len(judged) - len(allowed))
    return tuple(
        Candidate(one.card, one.score, chance, one.fired(Effect.BOOST), one.fired(Effect.EXCLUDE))
        for one, chance in zip(judged, chances, strict=True)
    )


class _Judged:
    """A card with what the classifier says of it; most cards of a tenant have no row."""

    __slots__ = ("_rules", "card", "score", "shut")

    def __init__(self, card: CorpusCard, row: CorpusScore | None, obey_excludes: bool) -> None:
        self.card = card
        self.score = row.score if row is not None else 0.0
        self.shut = obey_excludes and row is not None and row.excluded
        self._rules = row.fired if row is not None else ()

    def fired(self, effect: Effect) -> tuple[str, ...]:
        return tuple(sorted({rule.rule for rule in self._rules if rule.effect is effect})) if self._rules else ()


def corpus_weights(selected: Sequence[Candidate]) -> tuple[float, ...]:
    """Each one's share of the selected probability, at least `MIN_CORPUS_WEIGHT`; a single corpus weighs exactly 1."""
    if len(selected) == 1:
        return (1.0,)
    total = math.fsum(candidate.probability for candidate in selected)
    return tuple(max(candidate.probability / total, limits.MIN_CORPUS_WEIGHT) for candidate in selected)
