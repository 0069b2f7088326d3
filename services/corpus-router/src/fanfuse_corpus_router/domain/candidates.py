"""Ranks the corpora that may be searched, with the probability of each.

In: visible cards and the classifier's raw scores. Out: candidates, best first. Scores of corpora that are not among the
cards are ignored: an invisible corpus never changes a probability.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.classification import AskedCapability, CorpusScore, Effect
from fanfuse_contracts.corpus import CorpusCard


class Candidate(NamedTuple):
    """One visible corpus, with what the classifier says of it; of most corpora of a tenant it says nothing."""

    card: CorpusCard
    score: float
    probability: float
    asked: tuple[AskedCapability, ...] = ()
    """What the query asks of it."""
    boosts: tuple[str, ...] = ()
    """Rules and scopes that speak for it, sorted."""
    excludes: tuple[str, ...] = ()
    """Rules that exclude it, sorted."""
    topics: tuple[str, ...] = ()
    """What is asked and its card says that it cannot confirm, sorted."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates that may be searched, and those that may not (probability 0), each by score, then id."""

    allowed: tuple[Candidate, ...]
    shut: tuple[Candidate, ...] = ()


Shut = Callable[[CorpusScore], bool]
"""True if a corpus may not be searched, by what the classifier says of it."""


_Judged = tuple[float, str, CorpusCard, CorpusScore]
_ORDER = itemgetter(0, 1)
_ID = attrgetter("card.corpus")


def nothing_is_shut(_: CorpusScore) -> bool:
    """For a pin: rules are about relevance, not about access."""
    return False


def excluded(row: CorpusScore) -> bool:
    """A rule excludes it."""
    return row.excluded


def excluded_or_out_of_scope(row: CorpusScore) -> bool:
    """A rule excludes it, or its card says that it cannot confirm what is asked."""
    return bool(row.cannot_confirm) or row.excluded


def rank_candidates(
    cards: Iterable[CorpusCard],
    scores: Iterable[CorpusScore],
    temperature: float,
    shut: Shut,
    capability: str | None = None,
) -> Ranking:
    """Order by score, then corpus id; probabilities are a softmax over those that may be searched."""
    rows = {row.corpus: row for row in scores}
    silent: list[CorpusCard] = []
    allowed: list[_Judged] = []
    closed: list[_Judged] = []
    for card in cards:
        row = rows.get(card.corpus)
        if row is None:
            silent.append(card)
        else:
            (closed if shut(row) else allowed).append((-row.score, card.corpus, card, row))
    allowed.sort(key=_ORDER)
    closed.sort(key=_ORDER)
    chances = softmax([-one[0] for one in allowed], temperature, zeros=len(silent))
    spoken_of = [_candidate(one, chance, capability) for one, chance in zip(allowed, chances, strict=False)]
    return Ranking(
        tuple(_merged(spoken_of, _silent(silent, chances[-1], capability))) if silent else tuple(spoken_of),
        tuple([_candidate(one, 0.0, capability) for one in closed]),
    )


def _silent(cards: Sequence[CorpusCard], probability: float, capability: str | None) -> list[Candidate]:
    """Corpora of which the classifier says nothing: most of a large tenant's."""
    if capability is None:
        return [Candidate(card, 0.0, probability) for card in cards]
    return [Candidate(card, 0.0, probability, asked_of(card, None, capability)) for card in cards]


def _merged(spoken_of: Sequence[Candidate], silent: Sequence[Candidate]) -> list[Candidate]:
    """Both by score, then id: silent ones stand at 0. `spoken_of` is in this order already."""
    level = sorted([*(one for one in spoken_of if one.score == 0.0), *silent], key=_ID)
    return [*(one for one in spoken_of if one.score > 0.0), *level, *(one for one in spoken_of if one.score < 0.0)]


def _candidate(judged: _Judged, probability: float, capability: str | None) -> Candidate:
    negative, _, card, row = judged
    asked = asked_of(card, row, capability)
    score = -negative + 0.0  # never -0.0
    topics = tuple(sorted(row.cannot_confirm))
    return Candidate(card, score, probability, asked, _fired(row, Effect.BOOST), _fired(row, Effect.EXCLUDE), topics)


def _fired(row: CorpusScore, effect: Effect) -> tuple[str, ...]:
    return tuple(sorted({rule.rule for rule in row.fired if rule.effect is effect})) if row.fired else ()


def asked_of(card: CorpusCard, row: CorpusScore | None, capability: str | None) -> tuple[AskedCapability, ...]:
    """What the text asks of a corpus; only `capability` where the query names one."""
    found = row.asked if row is not None else ()
    if capability is None:
        return found
    named = tuple(asked for asked in found if asked.capability == capability)
    return named or ((AskedCapability(capability=capability, matched=()),) if can_answer(card, capability) else ())


def can_answer(card: CorpusCard, capability: str) -> bool:
    """True if the card has a capability of this name."""
    return any(one.name == capability for one in card.can_answer)


def softmax(scores: Sequence[float], temperature: float, zeros: int = 0) -> list[float]:
    """Probabilities that sum to 1; `temperature` > 0, lower is sharper. Safe for any finite score.

    `zeros`: so many more scores are 0; one probability at the end stands for each of them.
    """
    told = [*scores, 0.0] if zeros else scores
    top = max(told, default=0.0)
    exponentials = [math.exp((score - top) / temperature) for score in told]
    total = math.fsum([*exponentials, *repeat(exponentials[-1], zeros - 1)] if zeros else exponentials)
    return [value / total for value in exponentials]


def corpus_weights(selected: Sequence[Candidate]) -> tuple[float, ...]:
    """Each one's share of the selected probability, at least `MIN_CORPUS_WEIGHT`; a single corpus weighs exactly 1."""
    if len(selected) == 1:
        return (1.0,)
    total = math.fsum(candidate.probability for candidate in selected)
    return tuple(max(candidate.probability / total, limits.MIN_CORPUS_WEIGHT) for candidate in selected)
