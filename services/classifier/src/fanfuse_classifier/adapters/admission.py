"""The door of the flow: how many queries of a tenant are in it, and whether one more may enter.

In: a tenant and a budget. Out: True, or False for a query that must be asked again later. The broker is the only count
that all replicas share: a query lies in QUERIES as `classified` or `planned` until it is answered. Where the broker
does not say, queries are admitted: a ceiling must not become an outage.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from nats.errors import Error as NatsError

from fanfuse_classifier.domain.ceiling import Ceilings, Entry
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.pressure import PressureConfig
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.pools import PoolsView

_log = get_logger("classifier.admission")


@dataclass(slots=True)
class TenantAdmission:
    """Admits queries of one replica."""

    bus: Bus
    pools: PoolsView
    pressure: PressureConfig
    steady_s: Callable[[], float] = time.monotonic
    _ceilings: Ceilings = field(default_factory=Ceilings)
    _counting: dict[str, asyncio.Lock] = field(default_factory=dict)

    @asynccontextmanager
    async def entering(self, tenant: str, budget_ms: int) -> AsyncIterator[bool]:
        """Whether this query may enter. If so it counts from now on, and by the end of the block it has entered."""
        admitted = await self._admits(tenant, budget_ms)
        try:
            yield admitted
        finally:
            if admitted:
                self._ceilings.passed(tenant)

    async def _admits(self, tenant: str, budget_ms: int) -> bool:
        entry = self._enter(tenant, budget_ms)
        if entry is not Entry.COUNT:
            return entry is Entry.ADMIT
        lock = self._counting.setdefault(tenant, asyncio.Lock())
        async with lock:
            # Whoever held the lock before has counted for all that wait here.
            entry = self._enter(tenant, budget_ms)
            if entry is Entry.COUNT:
                entry = await self._count_and_enter(tenant, budget_ms)
        if not lock.locked():
            self._counting.pop(tenant, None)
        return entry is not Entry.REFUSE

    def ceiling_of(self, tenant: str) -> int:
        """Most queries of the tenant in flight."""
        return self.pressure.ceiling_of(tenant)

    async def _count_and_enter(self, tenant: str, budget_ms: int) -> Entry:
        try:
            in_flight = await self._in_flight(tenant)
        except (NatsError, TimeoutError) as error:
            _log.warning("admission.not_counted", error=str(error) or type(error).__name__)
            return Entry.ADMIT
        self._ceilings.counted(tenant, self.steady_s(), in_flight)
        return self._enter(tenant, budget_ms)

    def _enter(self, tenant: str, budget_ms: int) -> Entry:
        return self._ceilings.enter(tenant, self.steady_s(), budget_ms / 1e3, self.ceiling_of(tenant), self._replicas())

    def _replicas(self) -> int:
        return max(1, sum(beat.ready and beat.service is Stage.CLASSIFIER for beat in self.pools.alive))

    async def _in_flight(self, tenant: str) -> int:
        patterns = (subjects.query_classified_of(tenant), subjects.query_planned_of(tenant))
        return sum(await asyncio.gather(*(self.bus.held(streams.QUERIES.name, pattern) for pattern in patterns)))
