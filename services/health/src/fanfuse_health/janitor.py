"""Messages whose deliveries are used up: dead-lettered, answered, and taken out of their work queue.

In: one advisory, or what the sweep found. Out: the publications of `domain.repair`, then a deletion. Every step can be
repeated: ids are those of the first time, and a message that is gone is done.
"""

from fanfuse_contracts import flow, limits, streams, subjects
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_health.domain import repair
from fanfuse_health.domain.sweep import Sighting, stuck
from fanfuse_health.ports import QueuedMessage, WorkQueues
from fanfuse_runtime.answers import hop, publish_refusal
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.deadletters import publish_dead_letter
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics

_log = get_logger("janitor")
_SWEEP_AT_MOST = 100


class Janitor:
    """Repairs lost messages, one at a time."""

    def __init__(self, queues: WorkQueues, bus: Bus, metrics: Metrics) -> None:
        self._queues = queues
        self._bus = bus
        self._metrics = metrics
        self._sightings: dict[str, Sighting] = {}

    async def on_advisory(self, advisory: repair.MaxDeliveries) -> None:
        """Repair the message an advisory names."""
        stage = repair.stage_of(advisory.consumer)
        if stage is None or not repair.is_ours(advisory):
            _log.info("janitor.not_ours", stream=advisory.stream, consumer=advisory.consumer)
            return
        message = await self._queues.read(advisory.stream, advisory.stream_seq)
        if message is not None:
            await self._repair(stage, advisory.stream, message, advisory.deliveries)

    async def _repair(self, stage: Stage, stream: str, message: QueuedMessage, deliveries: int) -> None:
        todo = repair.repair(stage, message.subject, message.data, message.stored_ns, self._bus.instance)
        await publish_dead_letter(
            self._bus,
            self._metrics,
            stage=stage,
            stream=stream,
            sequence=message.sequence,
            subject=message.subject,
            data=message.data,
            headers=message.headers,
            deliveries=deliveries,
            reason=repair.REASON,
        )
        if todo.query is not None:
            await self._answer(todo.query)
        if todo.reply is not None:
            await self._reply(todo.reply, todo.attempt)
        await self._queues.delete(stream, message.sequence)
        _log.warning("janitor.repaired", stage=stage.value, stream=stream, sequence=message.sequence)

    async def _answer(self, query: repair.FailedQuery) -> None:
        known, metrics_ = query.progress, self._metrics
        hops = (*known.hops, hop(self._bus, Stage.HEALTH, known.submitted_ns, 0.0))
        await publish_refusal(
            self._bus, metrics_, query.tenant, query.query_id, query.rejection, known.submitted_ns, hops
        )

    async def _reply(self, reply: LaneReply, attempt: int) -> None:
        await self._bus.publish(
            flow.RETRIEVED,
            subjects.retrieved(reply.tenant, reply.query_id, reply.lane),
            reply,
            streams.message_id(reply.tenant, reply.query_id, "retrieved", reply.lane, attempt),
        )

    async def sweep(self, consumers: tuple[ConsumerSpec, ...]) -> int:
        """Repair what lies delivered and unfinished since the last sweep, its advisory lost. Returns how many."""
        return sum([await self._sweep_one(spec) for spec in consumers])

    async def _sweep_one(self, spec: ConsumerSpec) -> int:
        stage = repair.stage_of(spec.durable)
        delivered = await self._queues.delivered(spec.stream, spec.durable)
        if stage is None or delivered is None:
            return 0
        before = self._sightings.get(spec.durable)
        self._sightings[spec.durable] = Sighting(delivered)
        found, sequence = 0, 1
        while before is not None and found < _SWEEP_AT_MOST:
            message = await self._queues.next(spec.stream, spec.filter_subject, sequence)
            if message is None or not stuck(message.sequence, message.stored_ns, before, self._bus.now_ns()):
                break
            await self._repair(stage, spec.stream, message, limits.MAX_DELIVER)
            found, sequence = found + 1, message.sequence + 1
        return found
