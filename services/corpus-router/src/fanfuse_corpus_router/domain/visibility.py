"""Which corpora a principal may read.

In: capability cards and who asks. Out: the cards of the tenant that are visible, by corpus id. Fails closed: a blank
role or a blank principal grants nothing.
"""

from collections.abc import Iterable
from operator import attrgetter

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.query import Principal


def may_read(card: CorpusCard, principal: Principal | None) -> bool:
    """Public corpora are for everyone; the others for their readers, or for any stated principal if none are named."""
    if card.public:
        return True
    if principal is None or not principal.id.strip():
        return False
    return not card.readers or any(role.strip() for role in card.readers & principal.roles)


def visible_corpora(cards: Iterable[CorpusCard], tenant: str, principal: Principal | None) -> tuple[CorpusCard, ...]:
    """The cards of `tenant` that `principal` may read, sorted by corpus id."""
    mine = [card for card in cards if card.tenant == tenant and (card.public or may_read(card, principal))]
    return tuple(sorted(mine, key=attrgetter("corpus")))
