"""Tells what each lane contributed: by kind as metrics at once, by corpus as events every ten seconds.

Counts are sums since the last telling, so that whoever listens adds up those of all fusers. Holds at most a bounded
number of counts: where so many corpora are asked, it tells earlier.
"""

import asyncio
from collections import Counter
from contextlib import suppress

from nats.errors import Error as NatsError

from fanfuse_contracts import flow, limits, metrics, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.quality import QualityMeasured
from fanfuse_fuser.domain.quality import Contributions, Row, contributions, lane_qualities
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics

_log = get_logger("fuser.quality")


class QualityMeter:
    """The counts of one fuser."""

    def __init__(self, bus: Bus, metrics_: Metrics) -> None:
        self._bus = bus
        self._metrics = metrics_
        self._counts: dict[str, Counter[Row]] = {}
        self._full = asyncio.Event()

    def count(self, answer: Answer) -> None:
        """Count an answer that was stored."""
        counted = contributions(answer)
        self._export(counted)
        self._counts.setdefault(answer.tenant, Counter()).update(counted.rows)
        if sum(map(len, self._counts.values())) > limits.QUALITY_MAX_COUNTS:
            self._full.set()

    def _export(self, counted: Contributions) -> None:
        for kind, hits in counted.compared.items():
            self._metrics.inc(metrics.QUALITY_COMPARED_TOTAL, hits, kind=kind.value)
        for (kind, found), hits in counted.found.items():
            self._metrics.inc(metrics.QUALITY_HITS_TOTAL, hits, kind=kind.value, found=found)
        for (pair, found), hits in counted.pairs.items():
            self._metrics.inc(metrics.QUALITY_PAIRS_TOTAL, hits, pair=pair, found=found)
        for kind, hits in counted.seats.items():
            self._metrics.inc(metrics.QUALITY_SEATS_TOTAL, hits, kind=kind.value)

    async def run(self) -> None:
        """Tell every ten seconds, for ever."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._full.wait(), limits.QUALITY_EVERY_S)
            await self.tell()

    async def tell(self) -> None:
        """Publish what was counted and begin anew. What can't be published is logged and lost: it is a statistic."""
        counts, self._counts = self._counts, {}
        self._full.clear()
        for tenant, rows in counts.items():
            for corpus in sorted({row.corpus for row in rows}):
                lanes = lane_qualities(rows, corpus)
                event = QualityMeasured(tenant=tenant, corpus=corpus, lanes=lanes, source=self._bus.instance)
                try:
                    await self._bus.send(flow.QUALITY, subjects.quality(tenant, corpus), event)
                except (BusError, NatsError) as error:
                    _log.warning("quality.not_told", error=str(error))
