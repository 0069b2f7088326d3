"""What the plans of a tenant's queries have in common, so that each corpus is worked out once per kind of query.

In: cards and facts, as often as a query comes. Out: what was found out for them before. It lasts as long as the card
does, and as the facts do; it decides nothing, and without it every plan is the same.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.query import Principal
from fanfuse_contracts.quorum import DEFAULT, Quorum, Requirement
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.lanes import CorpusLanes
from fanfuse_corpus_router.domain.visibility import Cards, visible_corpora
from fanfuse_corpus_router.domain.wired import WiredLane, spec_of, wired_lanes

MAX_CORPORA: Final = 1_024
"""Corpora of all tenants that are remembered, some 15 kB each; over that all are forgotten."""
MAX_KINDS: Final = 8
"""Kinds of query remembered per corpus; over that all of the corpus are forgotten."""
MAX_TENANTS: Final = 1_024
"""Tenants remembered; over that all are forgotten."""
LEAST_WEIGHT: Final = 1e-300
"""A weight below it may become 0 when it is multiplied by a bias and a share."""
MAX_ROLES: Final = 64
"""Sets of roles per tenant for which it is known what may be read; over that all are forgotten."""


@dataclass(slots=True, eq=False)
class KnownCorpus:
    """A card, its wired lanes, and what became of them per kind of query."""

    card: CorpusCard
    spec: bytes
    """That of the embedder."""
    lanes: tuple[WiredLane, ...]
    weighable: bool
    """True if none of its weights becomes 0 by the least bias and the least share of a corpus."""
    found: dict[Hashable, CorpusLanes] = field(default_factory=dict)

    def remember(self, about: Hashable, lanes: CorpusLanes) -> CorpusLanes:
        """Keep and return what was found out."""
        if len(self.found) >= MAX_KINDS:
            self.found.clear()
        self.found[about] = lanes
        return lanes


class KnownTenant:
    """The corpora of one tenant."""

    def __init__(self, tenant: str, memory: "Memory", quorum: Quorum | None) -> None:
        self._tenant = tenant
        self._memory = memory
        self._requirements: Mapping[Kind, Requirement] = {k: (quorum and quorum.of(k)) or DEFAULT for k in Kind}
        self.facts = BackendFacts()
        self._corpora: dict[str, KnownCorpus] = {}
        self._seen: tuple[CorpusCard, ...] = ()
        self._visible: dict[frozenset[str] | None, Cards] = {}

    def visible(self, cards: tuple[CorpusCard, ...], principal: Principal | None) -> Cards:
        """`visible_corpora` of these cards."""
        # The registry's view hands out the same object until one of the cards changes.
        if cards is not self._seen or len(self._visible) > MAX_ROLES:
            self._seen, self._visible = cards, {}
        # Of a principal only this counts: whether it is stated, and its roles.
        roles = principal.roles if principal is not None and principal.id.strip() else None
        found = self._visible.get(roles)
        if found is None:
            found = self._visible[roles] = visible_corpora(cards, self._tenant, principal)
        return found

    def follow(self, facts: BackendFacts) -> None:
        """Take these facts in, and forget what was found out under others."""
        if facts != self.facts:
            for corpus in self._corpora.values():
                corpus.found.clear()
            self.facts = facts

    def of(self, card: CorpusCard) -> KnownCorpus:
        """What is known of a corpus whose card is this very object."""
        known = self._corpora.get(card.corpus)
        if known is None or known.card is not card:
            lanes = wired_lanes(card, self._requirements)
            weighable = not any(0.0 < one.weight < LEAST_WEIGHT for one in card.backends)
            known = KnownCorpus(card, spec_of(card.embedder), lanes, weighable)
            self._memory.make_room()
            self._corpora[card.corpus] = known
        return known

    def forget(self) -> None:
        """Start anew."""
        self._corpora.clear()


class Memory:
    """What one process remembers; bounded."""

    def __init__(self, quorums: Mapping[str, Quorum]) -> None:
        """`quorums`: by tenant, what holds where its cards say nothing."""
        self._quorums = quorums
        self._tenants: dict[str, KnownTenant] = {}
        self._corpora = 0

    def of(self, tenant: str) -> KnownTenant:
        """What is known of a tenant that has corpora."""
        known = self._tenants.get(tenant)
        if known is None:
            if len(self._tenants) >= MAX_TENANTS:
                self._tenants.clear()
                self._corpora = 0
            known = self._tenants[tenant] = KnownTenant(tenant, self, self._quorums.get(tenant))
        return known

    def make_room(self) -> None:
        """For one more corpus."""
        if self._corpora >= MAX_CORPORA:
            for tenant in self._tenants.values():
                tenant.forget()
            self._corpora = 0
        self._corpora += 1
