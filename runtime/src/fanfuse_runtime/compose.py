"""Runs any set of services in one process: connect, set up, declare, warm up, serve, stop gracefully.

The same function is behind the single-service entry points, `fanfuse up` and the tests. This is the only file that
knows the whole life cycle.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from secrets import token_hex

from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import SlowConsumerError
from opentelemetry.sdk.trace import SpanProcessor

from fanfuse_contracts import flow, limits, metrics, subjects
from fanfuse_contracts.health import Heartbeat
from fanfuse_runtime import VERSION
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.configfile import load_config
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.ops import OpsEndpoint
from fanfuse_runtime.pools import PoolsView
from fanfuse_runtime.registry import BackendsView, CorporaView
from fanfuse_runtime.service import Context, Service, ServiceFactory
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import TRANSIENT, ensure_topology
from fanfuse_runtime.telemetry import build_tracer_provider, shut_down

_log = get_logger("process")
_RECONNECT_WAIT_S = 0.2
_SETUP_TRIES = 50
_ERROR_LOG_EVERY_S = 5.0


class Process:
    """A running set of services."""

    def __init__(self, settings: RuntimeSettings, span_processor: SpanProcessor | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.clock = BrokerClock()
        self.services: list[Service] = []
        self.ready = False
        self.ops: OpsEndpoint | None = None
        self._span_processor = span_processor
        self._next_error_log = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self._reconnects: set[asyncio.Task[None]] = set()
        self._broker = self._build_broker()

    # -- connection ---------------------------------------------------------------------------------------------

    def _build_broker(self) -> NatsBroker:
        return NatsBroker(
            self.settings.nats_url.split(","),
            name="fanfuse",
            # Once a client gave up for good nothing brings it back: reconnect for ever.
            max_reconnect_attempts=-1,
            reconnect_time_wait=_RECONNECT_WAIT_S,  # type: ignore[arg-type]
            connect_timeout=5,
            ping_interval=5,
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnect,
            reconnected_cb=self._on_reconnect,
            apply_types=False,
            serializer=None,
            logger=None,
            user_credentials=str(self.settings.nats_creds) if self.settings.nats_creds else None,
        )

    async def _on_error(self, error: Exception) -> None:
        if isinstance(error, SlowConsumerError):
            self.metrics.inc(metrics.SLOW_CONSUMER_TOTAL)
        # While the broker is away every attempt fails, five times a second: one line in five seconds is enough.
        if time.monotonic() >= self._next_error_log:
            self._next_error_log = time.monotonic() + _ERROR_LOG_EVERY_S
            _log.warning("bus.error", error=str(error) or type(error).__name__)

    async def _on_disconnect(self) -> None:
        _log.warning("bus.disconnected")

    async def _on_reconnect(self) -> None:
        task = asyncio.create_task(self._set_up_again())
        self._reconnects.add(task)
        task.add_done_callback(self._reconnects.discard)

    async def _set_up_again(self) -> None:
        # Memory streams vanish with the broker, so the setup step runs again before anything is asked for.
        self.context.pools.forget_time()
        await self._set_up()
        for service in self.services:
            await service.router.on_reconnect()
        self.context.corpora.reread()
        self.context.backends.reread()
        await self._measure_clock()
        _log.info("bus.reconnected")

    async def _set_up(self) -> None:
        for attempt in range(_SETUP_TRIES):
            try:
                await ensure_topology(self.context.bus.js)
            except TRANSIENT:
                if attempt == _SETUP_TRIES - 1:
                    raise
                await asyncio.sleep(_RECONNECT_WAIT_S)
            else:
                return

    async def _measure_clock(self) -> None:
        with suppress(NatsError, TimeoutError):
            await self.clock.measure(self.client)

    # -- life cycle ---------------------------------------------------------------------------------------------

    async def start(self, factories: Sequence[ServiceFactory]) -> None:
        """Bring everything up; ready when this returns."""
        self.client: Client = await self._broker.connect()
        bus = Bus(self.client, self.clock, f"{os.getpid()}-{token_hex(3)}")
        self._provider = build_tracer_provider("fanfuse", self.settings.trace_sample, self._span_processor)
        self.context = Context(
            bus=bus,
            corpora=CorporaView(bus),
            backends=BackendsView(bus),
            pools=PoolsView(bus),
            metrics=self.metrics,
            settings=self.settings,
            config=load_config(self.settings.config_file),
            tracer=self._provider.get_tracer("fanfuse"),
        )
        await self._start_ops()
        await self._set_up()
        await self._measure_clock()
        await self.context.corpora.start()
        await self.context.backends.start()
        await self.context.pools.start()
        self.services = [factory(self.context) for factory in factories]
        for service in self.services:
            if service.warm_up is not None:
                await service.warm_up()
        await self._start_services()
        self.ready = True
        await self._beat()
        _log.info("process.ready", services=[service.stage.value for service in self.services])

    async def _start_ops(self) -> None:
        if self.settings.ops_port is None:
            return
        self.ops = OpsEndpoint(
            self.metrics, self._alive, self._is_ready, self.settings.ops_host, self.settings.ops_port
        )
        await self.ops.start()

    async def _start_services(self) -> None:
        for service in self.services:
            self._broker.include_router(service.router.faststream)
            await service.router.attach()
        await self._broker.start()
        for service in self.services:
            await service.router.start()
        loops = [loop for service in self.services for loop in service.background]
        self._tasks = [asyncio.create_task(self._supervise(loop())) for loop in loops]
        self._tasks += [asyncio.create_task(self._beat_forever()), asyncio.create_task(self._clock_forever())]

    async def _supervise(self, work: Awaitable[None]) -> None:
        try:
            await work
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a dead loop makes the process unready instead of passing unseen
            self._failure = f"{type(error).__name__}: {error}"
            _log.error("process.background_failed", exc_info=error)

    _failure: str | None = None

    def _alive(self) -> str | None:
        if self.client.is_closed:
            return "the connection to NATS is closed"
        return self._failure

    def _is_ready(self) -> str | None:
        if not self.ready:
            return "starting or stopping"
        if not self.client.is_connected:
            return "not connected to NATS"
        return self._failure

    async def stop(self) -> None:
        """Not ready → stop fetching → finish and acknowledge → give back the rest → unsubscribe → drain."""
        self.ready = False
        if self.client.is_connected:
            await self._beat()
        for service in self.services:
            await service.router.stop_fetching()
        deadline = time.monotonic() + self.settings.drain_timeout_s
        for service in self.services:
            await service.router.finish(max(0.1, deadline - time.monotonic()))
        for task in (*self._tasks, *self._reconnects):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._reconnects, return_exceptions=True)
        for service in self.services:
            if service.close is not None:
                await service.close()
        await self._close_bus()
        shut_down(self._provider)
        if self.ops is not None:
            await self.ops.stop()
        _log.info("process.stopped")

    async def _close_bus(self) -> None:
        await self.context.corpora.stop()
        await self.context.backends.stop()
        await self.context.pools.stop()
        with suppress(NatsError, TimeoutError):
            await asyncio.wait_for(self._broker.stop(), 5.0)
        if not self.client.is_closed:
            await self.client.close()

    # -- heartbeats and clock -----------------------------------------------------------------------------------

    async def _beat_forever(self) -> None:
        told = -1
        due = 0.0
        while True:
            revision = self._applied_revision()
            if time.monotonic() >= due or revision != told:
                told, due = revision, time.monotonic() + limits.HEARTBEAT_EVERY_S
                with suppress(NatsError):
                    await self._beat()
            await asyncio.sleep(0.05)

    def _applied_revision(self) -> int:
        own = [s.applied_revision() for s in self.services if s.applied_revision is not None]
        return min(own, default=self.context.corpora.revision)

    async def _beat(self) -> None:
        for service in self.services:
            applied = service.applied_revision
            service.router.export_in_flight()
            beat = Heartbeat(
                service=service.stage,
                instance=self.context.instance,
                version=VERSION,
                ready=self.ready,
                pools=service.served_pools(),
                registry_revision=applied() if applied is not None else self.context.corpora.revision,
                in_flight=service.router.in_flight,
            )
            await self.context.bus.send(flow.HEARTBEAT, subjects.heartbeat(service.stage, self.context.instance), beat)

    async def _clock_forever(self) -> None:
        while True:
            await asyncio.sleep(limits.BROKER_CLOCK_EVERY_S)
            await self._measure_clock()


@asynccontextmanager
async def compose(
    *factories: ServiceFactory, settings: RuntimeSettings, span_processor: SpanProcessor | None = None
) -> AsyncIterator[Process]:
    """Run these services for the time of a block. `span_processor` (tests) receives every span."""
    process = Process(settings, span_processor)
    await process.start(factories)
    try:
        yield process
    finally:
        await process.stop()
