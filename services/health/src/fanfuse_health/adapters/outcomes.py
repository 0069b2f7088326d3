"""Reads all of OUTCOMES in order, with the age of each outcome, for as long as the process lives.

A nameless consumer without acknowledgements: whenever a message is missed or the server falls silent, everything is
read again from the oldest, so the window is rebuilt as far back as the stream reaches, instead of guessed. (nats-py's
ordered consumer resumes at its last sequence, which a memory stream has not reached yet after a broker restart.)
"""

import asyncio
from typing import Final, Protocol

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.js import api
from pydantic import ValidationError

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.health import BackendOutcome
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.logs import get_logger

_log = get_logger("health")
_HEARTBEAT_S: Final = 1.0
_SILENT_S: Final = 3.0
_AGAIN_AFTER_S: Final = 0.2
_STATUS: Final = "Status"
_LAST_CONSUMER: Final = "Nats-Last-Consumer"


class OutcomeSink(Protocol):
    """Takes outcomes, and is told where a replay begins and ends."""

    def begin_replay(self) -> None:
        """Everything is read from the oldest again."""
        ...

    def end_replay(self) -> None:
        """What follows is live."""
        ...

    async def on_outcome(self, outcome: BackendOutcome, age_s: float) -> None:
        """One outcome; `age_s` in broker time."""
        ...


class OutcomeReader:
    """Feeds a sink."""

    def __init__(self, bus: Bus, sink: OutcomeSink) -> None:
        self._bus = bus
        self._sink = sink

    async def run(self) -> None:
        """Read for ever."""
        while True:
            try:
                await self._read_from_oldest()
            except (NatsError, TimeoutError) as error:
                _log.warning("health.outcomes_silent", error=str(error) or type(error).__name__)
                await asyncio.sleep(_AGAIN_AFTER_S)

    async def _read_from_oldest(self) -> None:
        subscription = await self._bus.nc.subscribe(self._bus.nc.new_inbox())
        try:
            await self._read(subscription)
        finally:
            if not self._bus.nc.is_closed:
                await subscription.unsubscribe()

    async def _read(self, subscription: Subscription) -> None:
        """Read until something is missing; raises `TimeoutError` when the server is silent."""
        self._sink.begin_replay()
        info = await self._bus.js.add_consumer(streams.OUTCOMES.name, _config(subscription.subject))
        live = not info.num_pending and info.delivered is not None and info.delivered.consumer_seq == 0
        if live:
            self._sink.end_replay()
        seen = 0
        while True:
            msg = await subscription.next_msg(timeout=_SILENT_S)
            status = (msg.headers or {}).get(_STATUS)
            seen += status is None
            if _place(msg, seen) != seen:
                return  # something was missed
            if status is None:
                await self._enter(msg)
            if not live and (status is not None or msg.metadata.num_pending == 0):
                live = True
                self._sink.end_replay()

    async def _enter(self, msg: Msg) -> None:
        try:
            outcome = BackendOutcome.from_json(msg.data)
        except ValidationError as error:
            _log.warning("health.undecodable_outcome", subject=msg.subject, error=str(error))
            return
        if msg.subject == subjects.backend_outcome(outcome.kind, outcome.backend):
            stored_s = msg.metadata.timestamp.timestamp()
            await self._sink.on_outcome(outcome, self._bus.now_ns() / 1e9 - stored_s)


def _place(msg: Msg, default: int) -> int:
    """How many messages the server had sent: of a heartbeat in its header, of a message in its metadata."""
    if msg.headers and _STATUS in msg.headers:
        return int(msg.headers.get(_LAST_CONSUMER, default))
    return msg.metadata.sequence.consumer


def _config(inbox: str) -> api.ConsumerConfig:
    return api.ConsumerConfig(
        deliver_subject=inbox,
        filter_subject=streams.OUTCOMES.subjects[0],
        deliver_policy=api.DeliverPolicy.ALL,
        ack_policy=api.AckPolicy.NONE,
        max_deliver=1,
        idle_heartbeat=_HEARTBEAT_S,
        inactive_threshold=10 * _HEARTBEAT_S,
        mem_storage=True,
        num_replicas=1,
    )
