"""What is read from the cards of each tenant, under keys, for all cards at once.

In: the cards of one tenant, as often as a query comes. Out: key → corpus → entry. Only a card that changed is read
anew, so that neither a query nor a change costs time for every term of every card.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from fanfuse_contracts.corpus import CorpusCard

E = TypeVar("E")
Entries = Mapping[str, Mapping[str, E]]
"""By key, then by corpus."""


class CardIndex(Generic[E]):
    """The entries of every tenant's cards. `read` makes those of one card."""

    def __init__(self, read: Callable[[CorpusCard], Mapping[str, E]]) -> None:
        self._read = read
        self._tenants: dict[str, _Tenant[E]] = {}

    def of(self, cards: Sequence[CorpusCard]) -> Entries[E]:
        """The entries of these cards, which are all cards of one tenant; valid until the next call."""
        if not cards:
            return {}
        tenant = self._tenants.setdefault(cards[0].tenant, _Tenant())
        tenant.follow(cards, self._read)
        return tenant.entries


class _Tenant(Generic[E]):
    def __init__(self) -> None:
        self.entries: dict[str, dict[str, E]] = {}
        self._known: dict[str, tuple[CorpusCard, Mapping[str, E]]] = {}
        self._seen: Sequence[CorpusCard] = ()

    def follow(self, cards: Sequence[CorpusCard], read: Callable[[CorpusCard], Mapping[str, E]]) -> None:
        if cards is self._seen and isinstance(cards, tuple):
            return
        for corpus in self._known.keys() - {card.corpus for card in cards}:
            self._drop(corpus)
        for card in cards:
            if card.corpus not in self._known or self._known[card.corpus][0] is not card:
                self._drop(card.corpus)
                self._add(card, read(card))
        self._seen = cards

    def _add(self, card: CorpusCard, entries: Mapping[str, E]) -> None:
        self._known[card.corpus] = (card, entries)
        for key, entry in entries.items():
            self.entries.setdefault(key, {})[card.corpus] = entry

    def _drop(self, corpus: str) -> None:
        _, entries = self._known.pop(corpus, (None, {}))
        for key in entries:
            del self.entries[key][corpus]
            if not self.entries[key]:
                del self.entries[key]
