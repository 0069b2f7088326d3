"""Takes the snapshot of backends that one plan is made from.

In: cards and the live views. Out: frozen facts. It asks for each pool once, however many corpora share it.
"""

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.ports import Backends, Pools

_POOL = attrgetter("kind", "pool")


def snapshot(cards: Iterable[CorpusCard], backends: Backends, pools: Pools) -> BackendFacts:
    """What is known now of every backend that these cards are wired with."""
    wired = set(map(_POOL, chain.from_iterable(card.backends for card in cards)))
    looks = {(kind, pool): pools.look(kind, pool) for kind, pool in wired}
    return BackendFacts(
        unhealthy=backends.unhealthy,
        absent=frozenset(pool for pool, look in looks.items() if look.absent),
        cold=frozenset(
            (lane.tenant, lane.corpus, kind, lane.backend) for (kind, _), look in looks.items() for lane in look.cold
        ),
        pressed=frozenset(pool for pool, look in looks.items() if look.under_pressure),
    )
