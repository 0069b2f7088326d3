"""What a durable consumer of a work queue has before it, read from the broker.

In: a consumer's specification. Out: how much waits, how much is being handled, and how old the oldest of it is, in
broker time. Two small requests, the second only where something is there.
"""

from dataclasses import dataclass

from nats.js.errors import NotFoundError

from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_runtime.bus import Bus


@dataclass(frozen=True, slots=True)
class QueueLag:
    """One consumer at one moment."""

    durable: str
    waiting: int
    """Not delivered yet (num_pending)."""
    in_flight: int
    """Delivered and not acknowledged yet (num_ack_pending)."""
    oldest_s: float
    """Age of the oldest message that is not done; 0 where there is none."""


async def read_lag(bus: Bus, spec: ConsumerSpec) -> QueueLag | None:
    """None while nobody has made the consumer. Raises `nats.errors.Error`."""
    try:
        info = await bus.js.consumer_info(spec.stream, spec.durable)
    except NotFoundError:
        return None
    waiting, in_flight = info.num_pending or 0, info.num_ack_pending or 0
    done = info.ack_floor.stream_seq if info.ack_floor is not None else 0
    oldest_s = await _oldest_s(bus, spec, done + 1) if waiting + in_flight else 0.0
    return QueueLag(spec.durable, waiting, in_flight, oldest_s)


async def _oldest_s(bus: Bus, spec: ConsumerSpec, sequence: int) -> float:
    try:
        message = await bus.js.get_msg(spec.stream, sequence, subject=spec.filter_subject, next=True)
    except NotFoundError:
        return 0.0  # done meanwhile
    return max(0.0, bus.now_ns() / 1e9 - message.time.timestamp()) if message.time is not None else 0.0
