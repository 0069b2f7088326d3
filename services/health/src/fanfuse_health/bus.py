"""What the health service hears, and the loops that keep it current.

Advisories come through a durable consumer, wishes for a probe as requests; outcomes, states and work queues are read
by loops. Each parses, calls the monitor, the probes or the janitor, and exports the gauge; it decides nothing.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from nats.errors import Error as NatsError

from fanfuse_contracts import metrics, streams, subjects
from fanfuse_contracts.enums import BackendHealth, Stage
from fanfuse_contracts.health import ProbeReply, ProbeRequest
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_health.domain.repair import MaxDeliveries
from fanfuse_health.domain.sweep import SWEEP_EVERY_S
from fanfuse_health.janitor import Janitor
from fanfuse_health.monitor import Monitor
from fanfuse_health.ports import BackendKey
from fanfuse_health.probing import Probing
from fanfuse_health.queue_gauges import export_queues
from fanfuse_runtime.beats import next_beat
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.router import ServiceRouter

_log = get_logger("health")
_TICK_S: Final = 0.5
_QUEUES_S: Final = 2.0
_JANITOR_IN_FLIGHT: Final = 8


def declare(context: Context, janitor: Janitor, probing: Probing) -> ServiceRouter:
    """The subscribers of the service."""
    router = ServiceRouter(Stage.HEALTH, context)

    async def on_failed(delivery: Delivery, rejection: Rejection) -> None:
        # No query hangs on an advisory itself; the sweep finds the message it spoke of.
        _log.error("janitor.advisory_lost", subject=delivery.subject, reason=rejection.message)

    @router.consume(streams.JANITOR_CONSUMER, MaxDeliveries, in_flight=_JANITOR_IN_FLIGHT, on_failed=on_failed)
    async def on_max_deliveries(_: Delivery, advisory: MaxDeliveries) -> None:
        await janitor.on_advisory(advisory)

    @router.respond(subjects.BACKEND_PROBE, ProbeRequest, invalid=_unknown)
    async def on_probe_wanted(delivery: Delivery, request: ProbeRequest) -> ProbeReply:
        key = BackendKey(*subjects.parse_backend(delivery.subject))
        reply = await probing.ask(key)
        _log.info("health.probe_wanted", kind=key.kind.value, backend=key.backend, by=request.by, probed=reply.probed)
        return reply

    return router


def _unknown(rejection: Rejection) -> ProbeReply:
    return ProbeReply(state=BackendHealth.HEALTHY, reason=f"not probed: {rejection.message}")


def tick_loop(context: Context, monitor: Monitor, probing: Probing) -> Callable[[], Awaitable[None]]:
    """Takes over stored states, starts due probes and exports the gauge, twice a second."""

    async def tick() -> None:
        await monitor.refresh()
        await monitor.judge_all()
        for key, value in probing.tick().items():
            context.metrics.set(metrics.BACKEND_DEGRADED, value, kind=key.kind.value, backend=key.backend)

    return _every(_TICK_S, tick)


def sweep_loop(context: Context, janitor: Janitor) -> Callable[[], Awaitable[None]]:
    """Looks for lost messages, once a minute."""

    async def sweep() -> None:
        await janitor.sweep(work_queue_consumers(context))

    return _every(SWEEP_EVERY_S, sweep)


def queues_loop(context: Context) -> Callable[[], Awaitable[None]]:
    """Exports what waits in the work queues, every two seconds."""

    async def export() -> None:
        consumers = (*work_queue_consumers(context), streams.JANITOR_CONSUMER)
        await export_queues(context.bus, context.metrics, consumers)

    return _every(_QUEUES_S, export)


def work_queue_consumers(context: Context) -> tuple[ConsumerSpec, ...]:
    """Every consumer of a work queue of the flow: the stages' and those of all wired pools."""
    pools = {(wiring.kind, wiring.pool) for card in context.corpora.values.values() for wiring in card.backends}
    stages = (streams.CLASSIFIER_CONSUMER, streams.ROUTER_CONSUMER, streams.FUSER_CONSUMER)
    return (*stages, *(streams.pool_consumer(kind, pool) for kind, pool in sorted(pools)))


def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    async def loop() -> None:
        while True:
            try:
                await work()
            except (BusError, NatsError) as error:
                _log.warning("health.bus_away", error=str(error))
            await next_beat(seconds)

    return loop
