"""Tells what each lane contributed: by kind as metrics every second, by corpus as events every ten seconds.

Counts are sums since the last telling, so that whoever listens adds up those of all fusers. Holds at most a bounded
number of rows: where so many corpora are asked, it tells earlier.
"""

import asyncio
import time

from nats.errors import Error as NatsError

from fanfuse_contracts import flow, limits, metrics, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.quality import QualityMeasured
from fanfuse_fuser.domain.quality import KindCounts, Tally
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics

_log = get_logger("fuser.quality")
_EXPORT_EVERY_S = 1.0


class QualityMeter:
    """The counts of one fuser."""

    def __init__(self, bus: Bus, metrics_: Metrics) -> None:
        self._bus = bus
        self._metrics = metrics_
        self._tally = Tally()

    def count(self, answer: Answer) -> None:
        """Count an answer that was stored."""
        self._tally.add(answer)

    async def run(self) -> None:
        """Export every second and tell every ten, for ever."""
        due = time.monotonic() + limits.QUALITY_EVERY_S
        while True:
            await asyncio.sleep(_EXPORT_EVERY_S)
            self.export()
            if time.monotonic() >= due or self._tally.size > limits.QUALITY_MAX_ROWS:
                due = time.monotonic() + limits.QUALITY_EVERY_S
                await self.tell()

    def export(self) -> None:
        """Add what was counted by kind to the metrics."""
        self._count(self._tally.take_kinds())

    def _count(self, counted: KindCounts) -> None:
        for kind, hits in counted.compared.items():
            self._metrics.inc(metrics.QUALITY_COMPARED_TOTAL, hits, kind=kind.value)
        for (kind, found), hits in counted.found.items():
            self._metrics.inc(metrics.QUALITY_HITS_TOTAL, hits, kind=kind.value, found=found)
        for (pair, found), hits in counted.pairs.items():
            self._metrics.inc(metrics.QUALITY_PAIRS_TOTAL, hits, pair=pair, found=found)
        for kind, hits in counted.seats.items():
            self._metrics.inc(metrics.QUALITY_SEATS_TOTAL, hits, kind=kind.value)

    async def tell(self) -> None:
        """Publish what was counted by corpus and begin anew. What can't be sent is logged and lost: a statistic."""
        self.export()
        for (tenant, corpus), lanes in self._tally.take_corpora().items():
            event = QualityMeasured(tenant=tenant, corpus=corpus, lanes=lanes, source=self._bus.instance)
            try:
                await self._bus.send(flow.QUALITY, subjects.quality(tenant, corpus), event)
            except (BusError, NatsError) as error:
                _log.warning("quality.not_told", error=str(error))
