"""Ranks the corpora that may be searched, with the probability of each.

In: visible cards and the classifier's raw scores. Out: candidates, best first. Scores of corpora that are not among the
cards are ignored: an invisible corpus never changes a probability.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import itemgetter
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.classification import AskedCapability, CorpusScore, Effect
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_corpus_router.domain.visibility import Cards


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
class Order:
    """Candidates in their order.

    Of most corpora of a large tenant the classifier says nothing. They differ in their cards alone and stand together,
    by id, so they are written out only as far as somebody looks.
    """

    front: Sequence[Candidate]
    silent: Sequence[CorpusCard] = ()
    back: Sequence[Candidate] = ()
    like: Candidate | None = None
    """What every silent one is, but for its card."""

    def __len__(self) -> int:
        return len(self.front) + len(self.silent) + len(self.back)

    def first(self, count: int) -> tuple[Candidate, ...]:
        """The best ones, at most so many."""
        found = [*self.front[:count]]
        if self.like is not None:
            found += _alike(self.like, self.silent[: count - len(found)])
        return (*found, *self.back[: count - len(found)])

    @property
    def spoken_of(self) -> Iterator[Candidate]:
        """Those of which the classifier says anything."""
        return chain(self.front, self.back)

    @property
    def differ(self) -> bool:
        """True if they are not all equally probable."""
        chances = [one.probability for one in (*self.front[:1], *self.back[-1:], *self.front[-1:], *self.back[:1])]
        if self.like is not None and self.silent:
            chances.append(self.like.probability)
        return len(set(chances)) > 1


def _alike(like: Candidate, cards: Iterable[CorpusCard]) -> list[Candidate]:
    _, score, probability, asked, *_ = like
    return [Candidate(card, score, probability, asked) for card in cards]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates that may be searched, and those that may not (probability 0), each by score, then id."""

    allowed: Order
    shut: tuple[Candidate, ...] = ()


Shut = Callable[[CorpusScore], bool]
"""True if a corpus may not be searched, by what the classifier says of it."""


_Judged = tuple[float, str, CorpusCard, CorpusScore]
_ORDER = itemgetter(0, 1)


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
    cards: Cards,
    scores: Iterable[CorpusScore],
    temperature: float,
    shut: Shut,
    capability: str | None = None,
) -> Ranking:
    """Order by score, then corpus id; probabilities are a softmax over those that may be searched.

    Where the query names a `capability`, every card has it.
    """
    rows = {row.corpus: row for row in scores if row.corpus in cards}
    silent = [card for corpus, card in cards.items() if corpus not in rows] if rows else list(cards.values())
    allowed: list[_Judged] = []
    closed: list[_Judged] = []
    for corpus, row in rows.items():
        (closed if shut(row) else allowed).append((-row.score, corpus, cards[corpus], row))
    allowed.sort(key=_ORDER)
    closed.sort(key=_ORDER)
    chances = softmax([-one[0] for one in allowed], temperature, zeros=len(silent))
    spoken_of = [_candidate(one, chance, capability) for one, chance in zip(allowed, chances, strict=False)]
    shut_out = tuple([_candidate(one, 0.0, capability) for one in closed])
    if not silent:
        return Ranking(Order(spoken_of), shut_out)
    like = Candidate(silent[0], 0.0, chances[-1], asked_of(silent[0], None, capability))
    return Ranking(_merged(spoken_of, silent, like), shut_out)


def _merged(spoken_of: Sequence[Candidate], silent: Sequence[CorpusCard], like: Candidate) -> Order:
    """Both by score, then id: silent ones stand at 0. `spoken_of` is in this order already."""
    above = [one for one in spoken_of if one.score > 0.0]
    level = [one for one in spoken_of if one.score == 0.0]
    below = [one for one in spoken_of if one.score < 0.0]
    if not level:
        return Order(above, silent, below, like)
    mixed = [*level, *_alike(like, silent)]
    return Order([*above, *sorted(mixed, key=lambda one: one.card.corpus), *below])


def _candidate(judged: _Judged, probability: float, capability: str | None) -> Candidate:
    negative, _, card, row = judged
    asked = asked_of(card, row, capability)
    score = -negative + 0.0  # never -0.0
    if not row.fired and not row.cannot_confirm:
        return Candidate(card, score, probability, asked)
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


def able_to(capability: str, cards: Cards) -> Cards:
    """The cards that have a capability of this name."""
    return {corpus: card for corpus, card in cards.items() if can_answer(card, capability)}


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
