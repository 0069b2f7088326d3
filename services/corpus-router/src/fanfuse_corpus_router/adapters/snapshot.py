"""Takes the snapshot of backends that one plan is made from.

In: a tenant's cards and the live views. Out: frozen facts. It asks for each pool once, however many corpora share it,
and looks a tenant's cards through once for each change of them.
"""

from itertools import chain
from operator import attrgetter

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_corpus_router.domain.facts import BackendFacts, Pool
from fanfuse_corpus_router.ports import Backends, Pools

_POOL = attrgetter("kind", "pool")


class Snapshots:
    """The snapshots of one process. Remembers the pools of each tenant that has corpora."""

    def __init__(self, backends: Backends, pools: Pools) -> None:
        self._backends = backends
        self._pools = pools
        self._wired: dict[str, tuple[tuple[CorpusCard, ...], frozenset[Pool]]] = {}

    def take(self, tenant: str, cards: tuple[CorpusCard, ...]) -> BackendFacts:
        """What is known now of every backend that the tenant's `cards` are wired with."""
        looks = {(kind, pool): self._pools.look(kind, pool) for kind, pool in self._pools_of(tenant, cards)}
        return BackendFacts(
            unhealthy=self._backends.unhealthy,
            absent=frozenset(pool for pool, look in looks.items() if look.absent),
            cold=frozenset(
                (lane.tenant, lane.corpus, kind, lane.backend)
                for (kind, _), look in looks.items()
                for lane in look.cold
            ),
            pressed=frozenset(pool for pool, look in looks.items() if look.under_pressure),
        )

    def _pools_of(self, tenant: str, cards: tuple[CorpusCard, ...]) -> frozenset[Pool]:
        if not cards:  # anybody can ask in the name of a tenant that does not exist
            return frozenset()
        known = self._wired.get(tenant)
        # The registry's view hands out the same object until one of the cards changes.
        if known is None or known[0] is not cards:
            wired = frozenset(map(_POOL, chain.from_iterable(card.backends for card in cards)))
            known = self._wired[tenant] = cards, wired
        return known[1]
