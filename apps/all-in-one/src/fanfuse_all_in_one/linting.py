"""What an operator should look at in rules and cards, judged by decisions that were made.

In: rules, cards and decisions. Out: findings. Pure: it reads nothing and changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.corpus import CorpusCard

OVERLAP: Final = 0.6
"""Share of common words (Jaccard) from which on two cards say the same."""
_MIN_WORDS: Final = 3
_WORD: Final = re.compile(r"\w+")


class Check(StrEnum):
    """What was looked at."""

    RULE_NEVER_FIRES = "rule_never_fires"
    CORPUS_NEVER_SELECTED = "corpus_never_selected"
    CARDS_OVERLAP = "cards_overlap"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at."""

    check: Check
    message: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one query: which corpora were selected (none, where it was refused) and what had fired."""

    tenant: str
    selected: tuple[str, ...] = ()
    fired: tuple[str, ...] = ()


def lint(routing: RoutingConfig, cards: Sequence[CorpusCard], decided: Sequence[Decided]) -> tuple[Finding, ...]:
    """Every finding. Without decisions only the cards are judged."""
    findings: list[Finding] = []
    if decided:
        findings += _silent_rules(routing, decided)
        findings += _idle_corpora(cards, decided)
    findings += _overlaps(cards)
    return tuple(findings)


def _silent_rules(routing: RoutingConfig, decided: Sequence[Decided]) -> Iterator[Finding]:
    fired = {name for one in decided for name in one.fired}
    for rule in routing.rules:
        if rule.name not in fired:
            yield Finding(
                Check.RULE_NEVER_FIRES,
                f"rule {rule.name!r} fired in none of {len(decided)} decisions: are its words those of your users?",
            )
    for scope in routing.scopes:
        if f"scope:{scope.name}" not in fired:
            yield Finding(Check.RULE_NEVER_FIRES, f"scope {scope.name!r} was named in none of {len(decided)} decisions")


def _idle_corpora(cards: Iterable[CorpusCard], decided: Sequence[Decided]) -> Iterator[Finding]:
    selected = {(one.tenant, corpus) for one in decided for corpus in one.selected}
    counts = {tenant: sum(one.tenant == tenant for one in decided) for tenant in {one.tenant for one in decided}}
    for card in cards:
        if card.tenant in counts and (card.tenant, card.corpus) not in selected:
            yield Finding(
                Check.CORPUS_NEVER_SELECTED,
                f"corpus {card.tenant}/{card.corpus} was selected in none of {counts[card.tenant]} decisions of its "
                "tenant: give its card the words of its users, or take it out",
            )


def _overlaps(cards: Sequence[CorpusCard]) -> Iterator[Finding]:
    words = {(card.tenant, card.corpus): _words(card) for card in cards}
    for one, other in combinations(sorted(words), 2):
        if one[0] != other[0] or min(len(words[one]), len(words[other])) < _MIN_WORDS:
            continue
        common = len(words[one] & words[other]) / len(words[one] | words[other])
        if common >= OVERLAP:
            yield Finding(
                Check.CARDS_OVERLAP,
                f"cards of {one[0]}/{one[1]} and {other[0]}/{other[1]} share {common:.0%} of their words: "
                "no scorer can tell them apart by these",
            )


def _words(card: CorpusCard) -> frozenset[str]:
    texts = [card.display_name, card.description, *card.term_weights]
    for capability in card.can_answer:
        texts += [capability.description, *capability.match_any]
    return frozenset(word for text in texts for word in _WORD.findall(text.casefold()))
