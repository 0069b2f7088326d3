"""Which corpora a principal may read.

In: capability cards and who asks. Out: the cards of the tenant that are visible, by corpus id. Fails closed: a blank
role or a blank principal grants nothing.
"""

from collections.abc import Iterable, Mapping
from operator import attrgetter

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.query import Principal

Cards = Mapping[str, CorpusCard]
"""By corpus id, in the order of the ids."""


def may_read(card: CorpusCard, principal: Principal | None) -> bool:
    """Public corpora are for everyone; the others for their readers, or for any stated principal if none are named."""
    if card.public:
        return True
    if principal is None or not principal.id.strip():
        return False
    return not card.readers or any(role.strip() for role in card.readers & principal.roles)


def visible_corpora(cards: Iterable[CorpusCard], tenant: str, principal: Principal | None) -> Cards:
    """The cards of `tenant` that `principal` may read."""
    return by_id(card for card in cards if card.tenant == tenant and may_read(card, principal))


def by_id(cards: Iterable[CorpusCard]) -> Cards:
    """The cards of one tenant in the order of their ids."""
    return {card.corpus: card for card in sorted(cards, key=attrgetter("corpus"))}
