"""The door of the flow: how many queries of a tenant are in it, and whether one more may enter.

In: a tenant and a budget. Out: True, or False for a query that must be asked again later. The broker is the only count
that all replicas share: a query lies in QUERIES as `classified` or `planned` until it is answered. Where the broker
does not say, queries are admitted: a ceiling must not become an outage.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from nats.errors import Error as NatsError

from fanfuse_classifier.domain.ceiling import LATE_S, Ceilings, Door, Entry
from fanfuse_contracts import limits, streams, subjects
from fanfuse_contracts.enums import Kind, Stage
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
    async def entering(self, tenant: str, budget_ms: int, waited_ms: float = 0.0) -> AsyncIterator[bool]:
        """Whether this query may enter, after it waited so long to be read.

        If so it counts from now on, and by the end of the block it has entered.
        """
        admitted = await self._admits(tenant, budget_ms, self._door(tenant, waited_ms))
        try:
            yield admitted
        finally:
            if admitted:
                self._ceilings.passed(tenant)

    async def _admits(self, tenant: str, budget_ms: int, door: Door) -> bool:
        entry = self._enter(tenant, budget_ms, door)
        if entry is not Entry.COUNT:
            return entry is Entry.ADMIT
        lock = self._counting.setdefault(tenant, asyncio.Lock())
        async with lock:
            # Whoever held the lock before has counted for all that wait here.
            entry = self._enter(tenant, budget_ms, door)
            if entry is Entry.COUNT:
                entry = await self._count_and_enter(tenant, budget_ms, door)
        if not lock.locked():
            self._counting.pop(tenant, None)
        return entry is not Entry.REFUSE

    def asks(self, tenant: str) -> None:
        """A query of this tenant came, and is not let in."""
        self._ceilings.asks(tenant, self.steady_s(), self.pressure.ceiling_of(tenant))

    def room_of(self, tenant: str) -> int:
        """Most queries of the tenant in flight now."""
        return self._ceilings.room_of(tenant, self.pressure.ceiling_of(tenant))

    async def _count_and_enter(self, tenant: str, budget_ms: int, door: Door) -> Entry:
        try:
            in_flight = await self._in_flight(tenant)
        except (NatsError, TimeoutError) as error:
            _log.warning("admission.not_counted", error=str(error) or type(error).__name__)
            return Entry.ADMIT
        self._ceilings.counted(tenant, self.steady_s(), in_flight)
        return self._enter(tenant, budget_ms, door)

    def _enter(self, tenant: str, budget_ms: int, door: Door) -> Entry:
        return self._ceilings.enter(tenant, self.steady_s(), budget_ms / 1e3, door)

    def _door(self, tenant: str, waited_ms: float) -> Door:
        replicas, late, workers = 0, waited_ms > LATE_S * 1e3, Counter[tuple[Kind, str]]()
        for beat in self.pools.alive:
            if beat.ready:
                replicas += beat.service is Stage.CLASSIFIER
                workers.update((served.kind, served.pool) for served in beat.pools)
                late = late or any(served.under_pressure for served in beat.pools)
        in_hand = limits.WORKER_IN_FLIGHT * min(workers.values(), default=1)
        return Door(self.pressure.ceiling_of(tenant), max(1, replicas), in_hand, late)

    async def _in_flight(self, tenant: str) -> int:
        patterns = (subjects.query_classified_of(tenant), subjects.query_planned_of(tenant))
        return sum(await asyncio.gather(*(self.bus.held(streams.QUERIES.name, pattern) for pattern in patterns)))
