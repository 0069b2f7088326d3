"""Takes the snapshot of backends that one plan is made from.

In: cards and the live views. Out: frozen facts. It asks for each pool once, however many corpora share it.
"""

from collections.abc import Iterable

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.ports import Backends, Pools


def snapshot(cards: Iterable[CorpusCard], backends: Backends, pools: Pools) -> BackendFacts:
    """What is known now of every backend that these cards are wired with."""
    wired = {(wiring.kind, wiring.pool) for card in cards for wiring in card.backends}
    return BackendFacts(
        unhealthy=backends.unhealthy,
        absent=frozenset((kind, pool) for kind, pool in wired if pools.absent(kind, pool)),
    )
