"""Exports what waits in each work queue. In: the consumers of the flow. Effect: gauges, none where nothing is known.

Every replica exports the same figures: a query takes the largest, never the sum.
"""

from collections.abc import Iterable

from nats.errors import Error as NatsError

from fanfuse_contracts import metrics
from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.lag import QueueLag, read_lag
from fanfuse_runtime.metrics import Metrics


async def export_queues(bus: Bus, gauges: Metrics, consumers: Iterable[ConsumerSpec]) -> None:
    """Read every queue once. Raises `nats.errors.Error`; then nothing is exported: what is not known has no value."""
    lags: list[QueueLag] = []
    try:
        for spec in consumers:
            lag = await read_lag(bus, spec)
            if lag is not None:
                lags.append(lag)
    except NatsError:
        lags = []
        raise
    finally:
        gauges.replace(metrics.CONSUMER_PENDING, {(lag.durable,): lag.waiting for lag in lags})
        gauges.replace(metrics.CONSUMER_ACK_PENDING, {(lag.durable,): lag.in_flight for lag in lags})
        gauges.replace(metrics.CONSUMER_OLDEST_SECONDS, {(lag.durable,): lag.oldest_s for lag in lags})
