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

from nats.aio.client import Client
from nats.errors import Error as NatsError
from opentelemetry.sdk.trace import SpanProcessor

from fanfuse_contracts import limits, metrics
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.collector import SettledCollector
from fanfuse_runtime.configfile import load_config
from fanfuse_runtime.connection import Connection
from fanfuse_runtime.context import Context
from fanfuse_runtime.errors import needed_to_start
from fanfuse_runtime.heartbeats import Heartbeats
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.masking import mask, remember_secrets, secrets_of_config, secrets_of_environment
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.ops import OpsEndpoint
from fanfuse_runtime.pools import PoolsView
from fanfuse_runtime.registry import BackendsView
from fanfuse_runtime.service import Service, ServiceFactory
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import ensure_topology_in_time, rights_of
from fanfuse_runtime.stores import build_store
from fanfuse_runtime.tasks import end_tasks
from fanfuse_runtime.telemetry import build_tracer_provider, shut_down

_log = get_logger("process")


class Process:
    """A running set of services."""

    def __init__(
        self,
        settings: RuntimeSettings,
        span_processor: SpanProcessor | None = None,
        config: FanfuseConfig | None = None,
    ) -> None:
        self.settings = settings
        self._config = load_config(settings.config_file) if config is None else config
        remember_secrets((*secrets_of_environment(os.environ), *secrets_of_config(self._config)))
        self.metrics = Metrics(self._config.metrics)
        self.services: list[Service] = []
        self.ready = False
        self.ops: OpsEndpoint | None = None
        self.context: Context
        self._provider = build_tracer_provider("fanfuse", settings.trace_sample, span_processor)
        self._connection = Connection(settings, self.metrics, self._on_reconnect)
        self._clock = BrokerClock()
        self._collector = SettledCollector()
        self._heartbeats: Heartbeats | None = None
        self._failure: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.metrics.follow(metrics.READY, lambda: float(self._is_ready() is None))
        self.metrics.follow(metrics.BUS_CONNECTED, lambda: float(self._connection.problem is None))

    # -- start --------------------------------------------------------------------------------------------------

    async def start(self, factories: Sequence[ServiceFactory]) -> None:
        """Bring everything up; ready when this returns."""
        loop = asyncio.get_running_loop()
        self.metrics.follow(metrics.TASKS, lambda: float(len(asyncio.all_tasks(loop))))
        await self._start_ops()
        self.context = self._build_context(await self._connection.open())
        async with self._connection.allowed():
            await self._start_on_bus(factories)
            await self._connection.heard()
        self._collector.settle()
        self.ready = True
        _log.info("process.ready", services=[service.stage.value for service in self.services])

    async def _start_on_bus(self, factories: Sequence[ServiceFactory]) -> None:
        with needed_to_start("word of the streams"):
            await ensure_topology_in_time(self.context.bus.js, rights_of(self.settings))
        await self._measure_clock()
        with needed_to_start("the registry of corpora"):
            await self.context.corpora.start()
        self.metrics.follow(metrics.REGISTRY_AGE_SECONDS, lambda: self.context.corpora.age_s)
        with needed_to_start("the state of backends"):
            await self.context.backends.start()
            await self.context.pools.start()
        self.services = [factory(self.context) for factory in factories]
        for service in self.services:
            if service.warm_up is not None:
                await service.warm_up()
        with needed_to_start("the consumers of its work"):
            await self._start_services()

    async def _start_ops(self) -> None:
        if self.settings.ops_port is None:
            return
        self.ops = OpsEndpoint(
            self.metrics, self._alive, self._is_ready, self.settings.ops_host, self.settings.ops_port
        )
        await self.ops.start()

    def _build_context(self, client: Client) -> Context:
        bus = Bus(client, self._clock, f"{os.getpid()}-{token_hex(3)}")
        return Context(
            bus=bus,
            corpora=build_store(self._config, bus, self.settings.data_dir),
            backends=BackendsView(bus),
            pools=PoolsView(bus),
            metrics=self.metrics,
            settings=self.settings,
            config=self._config,
            tracer=self._provider.get_tracer("fanfuse"),
        )

    async def _start_services(self) -> None:
        for service in self.services:
            self._connection.broker.include_router(service.router.faststream)
            await service.router.attach()
        await self._connection.broker.start()
        for service in self.services:
            await service.router.start()
        self._heartbeats = Heartbeats(self.context, self.services, lambda: self.ready)
        await self._heartbeats.start()
        loops = [loop for service in self.services for loop in service.background]
        for loop in (*loops, self._heartbeats.run, self._measure_clock_forever):
            self._supervise(loop())

    def _supervise(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - a dead loop makes the process unready instead of passing unseen
            self._failure = mask(f"{type(error).__name__}: {error}")
            _log.error("process.background_failed", exc_info=error)

    # -- while it runs ------------------------------------------------------------------------------------------

    def _alive(self) -> str | None:
        return self._connection.problem if self._connection.is_lost else self._failure

    def _is_ready(self) -> str | None:
        return self._connection.problem or self._failure or (None if self.ready else "starting or stopping")

    async def _on_reconnect(self) -> None:
        self.metrics.inc(metrics.RECONNECTS_TOTAL)
        self.context.bus.reconnected()
        self._supervise(self._set_up_again())

    async def _set_up_again(self) -> None:
        # Memory streams vanish with the broker, so the setup step runs again before anything is asked for.
        self.context.pools.forget_time()
        await ensure_topology_in_time(self.context.bus.js, rights_of(self.settings))
        for service in self.services:
            await service.router.on_reconnect()
        self.context.corpora.reread()
        self.context.backends.reread()
        await self._measure_clock()
        _log.info("bus.reconnected")

    async def _measure_clock(self) -> None:
        with suppress(NatsError, TimeoutError):
            await self._clock.measure(self.context.bus.nc)

    async def _measure_clock_forever(self) -> None:
        while True:
            await asyncio.sleep(limits.BROKER_CLOCK_EVERY_S)
            await self._measure_clock()

    # -- stop ---------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Not ready → stop fetching → finish and acknowledge → give back the rest → unsubscribe → drain.

        Also after a start that failed half-way.
        """
        self.ready = False
        self._collector.release()
        if self._heartbeats is not None and self._connection.problem is None:
            await self._heartbeats.stop()
        await self._finish_work()
        await end_tasks(list(self._tasks))
        for service in self.services:
            if service.close is not None:
                await service.close()
        if hasattr(self, "context"):
            await self.context.corpora.stop()
            await self.context.backends.stop()
            await self.context.pools.stop()
        await self._connection.close()
        await shut_down(self._provider)
        if self.ops is not None:
            await self.ops.stop()
        _log.info("process.stopped")

    async def _finish_work(self) -> None:
        for service in self.services:
            await service.router.stop_fetching()
        deadline = time.monotonic() + self.settings.drain_timeout_s
        for service in self.services:
            await service.router.finish(max(0.1, deadline - time.monotonic()))
        # Last: what was finished above may have asked a service of this process.
        for service in self.services:
            await service.router.stop_answering(max(0.1, deadline - time.monotonic()))


@asynccontextmanager
async def compose(
    *factories: ServiceFactory,
    settings: RuntimeSettings,
    span_processor: SpanProcessor | None = None,
    config: FanfuseConfig | None = None,
) -> AsyncIterator[Process]:
    """Run these services for the time of a block. `span_processor` (tests) receives every span. `config`: instead of
    the file that the settings name."""
    process = Process(settings, span_processor, config)
    try:
        await process.start(factories)
        yield process
    finally:
        await process.stop()
