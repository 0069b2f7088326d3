"""What a text asks of each corpus, by its capability card.

In: a text and the cards of its tenant. Out: per corpus the capabilities that are asked, the arguments that the text
gives, and the topics that the corpus cannot confirm. It decides nothing: what is missing is the router's question.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fanfuse_classifier.domain.cards import CardIndex, Entries
from fanfuse_classifier.domain.expressions import Expression, InvalidExpressionError
from fanfuse_classifier.domain.matching import Filed, file_terms, spoken_for
from fanfuse_classifier.domain.terms import Terms, read_pattern
from fanfuse_contracts.capability import Argument
from fanfuse_contracts.classification import AskedCapability
from fanfuse_contracts.corpus import CorpusCard


@dataclass(frozen=True, slots=True)
class CardFindings:
    """What a text asks of one corpus, in the order of its card."""

    asked: tuple[AskedCapability, ...]
    cannot_confirm: tuple[str, ...]


class _Place(NamedTuple):
    """Where a term stands on its card."""

    entry: int
    """Of the capabilities, then of the topics."""
    term: int


_Patterns = Sequence[tuple[str, Expression]]
"""Arguments of one capability by name, as far as they have a usable expression."""


class CapabilityMatcher:
    """Matches texts against cards. Remembers what it read from each card."""

    def __init__(self) -> None:
        self._terms: CardIndex[Filed[_Place]] = CardIndex(_file_card)
        self._patterns: CardIndex[_Patterns] = CardIndex(_compile_card)

    def find(self, terms: Terms, cards: Sequence[CorpusCard], named: str | None = None) -> Mapping[str, CardFindings]:
        """The findings per corpus of which anything is asked. `named`: the capability that the query itself names."""
        patterns = self._patterns.of(cards)
        places = self._places(terms, cards)
        asked = places.keys() | (patterns.get(named, {}).keys() if named is not None else set())
        by_id = {card.corpus: card for card in cards} if asked else {}
        return {
            corpus: _findings(by_id[corpus], sorted(places.get(corpus, ())), patterns, terms, named) for corpus in asked
        }

    def _places(self, terms: Terms, cards: Sequence[CorpusCard]) -> Mapping[str, set[_Place]]:
        filed = self._terms.of(cards)
        places: dict[str, set[_Place]] = {}
        for anchor in terms.anchors & filed.keys() if filed else ():
            for corpus, entry in filed[anchor].items():
                for place in spoken_for(entry, terms):
                    places.setdefault(corpus, set()).add(place)
        return places


def _findings(
    card: CorpusCard, places: Sequence[_Place], patterns: Entries[_Patterns], terms: Terms, named: str | None
) -> CardFindings:
    matched: dict[int, list[int]] = {}
    for place in places:
        matched.setdefault(place.entry, []).append(place.term)
    asked = tuple(
        AskedCapability(
            capability=capability.name,
            matched=tuple(capability.match_any[term] for term in matched.get(entry, ())),
            found=tuple(
                name for name, pattern in patterns[capability.name][card.corpus] if pattern.matches(terms.text)
            ),
        )
        for entry, capability in enumerate(card.can_answer)
        if entry in matched or capability.name == named
    )
    topics = (topic.name for entry, topic in enumerate(card.cannot_confirm, len(card.can_answer)) if entry in matched)
    return CardFindings(asked, tuple(dict.fromkeys(topics)))


def _file_card(card: CorpusCard) -> Mapping[str, Filed[_Place]]:
    return file_terms(
        (term, _Place(entry, place))
        for entry, (_, listed) in enumerate(_entries(card))
        for place, term in enumerate(listed)
    )


def _entries(card: CorpusCard) -> Sequence[tuple[str, Sequence[str]]]:
    """Name and terms of every capability, then of every topic."""
    asked = [(capability.name, capability.match_any) for capability in card.can_answer]
    return [*asked, *((topic.name, topic.match_any) for topic in card.cannot_confirm)]


def _compile_card(card: CorpusCard) -> Mapping[str, _Patterns]:
    return {one.name: tuple(_usable(one.required)) for one in card.can_answer}


def _usable(arguments: Sequence[Argument]) -> Iterator[tuple[str, Expression]]:
    for argument in arguments:
        if argument.pattern is not None:
            try:
                yield argument.name, Expression(argument.pattern)
            except InvalidExpressionError:
                continue  # `card_faults` tells of it; the argument can then only be given by its field


def card_faults(card: CorpusCard) -> tuple[str, ...]:
    """What is wrong with a card's terms and expressions, one message each. Such a part never matches anything."""
    return tuple(_faults(card))


def _faults(card: CorpusCard) -> Iterator[str]:
    for name, listed in _entries(card):
        for term in listed:
            if read_pattern(term) is None:
                yield f"corpus {card.corpus!r}: {name!r}: match_any {term!r} holds no letter or digit"
    for capability in card.can_answer:
        for argument in capability.required:
            try:
                Expression(argument.pattern or "")
            except InvalidExpressionError as error:
                yield f"corpus {card.corpus!r}: argument {argument.name!r} of {capability.name!r}: pattern {error}"
