"""What a worker's heartbeat says of its pools: backends, what is cold, and how old the oldest command is.

In: cards, the catalog, the commands in hand. Out: `ServedPool`s, and what others must hear of at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fanfuse_backend_workers.catalog import Catalog
from fanfuse_backend_workers.domain.in_hand import InHand
from fanfuse_backend_workers.domain.pools import Pool, served_pools
from fanfuse_backend_workers.engine_watch import EngineWatch
from fanfuse_contracts import limits
from fanfuse_contracts.health import ServedPool
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.corpus_store import CorporaReader


@dataclass(frozen=True, slots=True)
class PoolTelling:
    """Looked at whenever a heartbeat is made."""

    pools: tuple[Pool, ...]
    corpora: CorporaReader
    catalog: Catalog
    in_hand: InHand
    bus: Bus
    servers: Mapping[Pool, tuple[str, ...]]
    """Names of the engine servers of each pool."""
    watch: EngineWatch

    def served(self) -> tuple[ServedPool, ...]:
        """Every pool as it is now."""
        shares = dict(zip(self.pools, self._shares(), strict=True))
        cards, unusable = self.corpora.values.values(), self.watch.unusable
        return served_pools(self.pools, cards, self.catalog.cold, shares, self.servers, unusable)

    def urgent(self) -> tuple[object, ...]:
        """Changes when something becomes warm, cold or usable, or a pool comes under pressure or out of it."""
        return self.catalog.cold, self.watch.unusable, tuple(share > limits.PRESSURE_SHARE for share in self._shares())

    def _shares(self) -> Iterable[float]:
        now_ns = self.bus.now_ns()
        return [self.in_hand.oldest_share(pool, now_ns) for pool in self.pools]
