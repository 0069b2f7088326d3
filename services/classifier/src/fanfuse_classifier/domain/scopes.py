"""Scopes: domains and content types that a text names, by the words people use for them.

In: scopes as configured, once; then a text and the tenant's cards. Out: the scopes that are named, and a boost for each
corpus whose card lists one. It never excludes: not to be named is no reason against a corpus.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fanfuse_classifier.domain.matching import TermIndex
from fanfuse_classifier.domain.rules import check_terms
from fanfuse_classifier.domain.terms import Terms
from fanfuse_contracts.classification import Effect, FiredRule, ScopeSignal
from fanfuse_contracts.config import Scope
from fanfuse_contracts.corpus import CorpusCard

RULE_PREFIX: Final = "scope:"
"""A scope that speaks for a corpus is told as a fired rule of this name."""


class Scopes:
    """Configured scopes; immutable."""

    def __init__(self, scopes: Iterable[Scope] = ()) -> None:
        """Raises `InvalidRuleError`."""
        self._scopes = tuple(scopes)
        for scope in self._scopes:
            check_terms(f"scope {scope.name!r}: alias", scope.aliases)
        self._index = TermIndex(
            (alias, (number, place))
            for number, scope in enumerate(self._scopes)
            for place, alias in enumerate(scope.aliases)
        )

    def find(self, terms: Terms) -> tuple[ScopeSignal, ...]:
        """The scopes that a text names, in the order of configuration, each by the first of its aliases."""
        first: dict[int, int] = {}
        for number, place in sorted(self._index.find(terms)):
            first.setdefault(number, place)
        return tuple(
            ScopeSignal(scope=self._scopes[number].name, alias=self._scopes[number].aliases[place])
            for number, place in first.items()
        )

    def boosts(self, named: Sequence[ScopeSignal], cards: Sequence[CorpusCard]) -> Mapping[str, Sequence[FiredRule]]:
        """What the named scopes add to each corpus that belongs to them."""
        amounts = {scope.name: scope.boost for scope in self._scopes} if named else {}
        fired: dict[str, list[FiredRule]] = {}
        for signal in named:
            rule = FiredRule(rule=f"{RULE_PREFIX}{signal.scope}", effect=Effect.BOOST, amount=amounts[signal.scope])
            for card in cards:
                if signal.scope in card.scopes:
                    fired.setdefault(card.corpus, []).append(rule)
        return fired
