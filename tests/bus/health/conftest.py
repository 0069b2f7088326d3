"""Health services on a real broker, a fake pool of workers, and what a test may look up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import nats
import pytest
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import ServerError

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import BackendHealth, FailureKind, Kind, LaneOutcome, Stage
from fanfuse_contracts.health import BackendOutcome, BackendState, Heartbeat, ServedPool
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import Failure, LaneReply
from fanfuse_health.service import build
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import ensure_consumer, ensure_topology
from fanfuse_testing.flow import eventually
from fanfuse_testing.nats import _session_server, nats_server, own_nats_server

__all__ = ["_session_server", "nats_server", "own_nats_server"]

KEY = streams.backend_key(Kind.VECTOR, "main")
POOL = streams.pool_consumer(Kind.VECTOR, "main")
CARD = CorpusCard(tenant="acme", corpus="docs", backends=(Wiring(kind=Kind.VECTOR, backend="main", pool="main"),))


@dataclass
class Deployment:
    """A broker with the contract's streams, and one corpus on `vector/main`."""

    bus: Bus
    url: str
    published: int = 0

    async def outcome(self, ok: bool, *, weight: int = 1, failure: FailureKind = FailureKind.TIMEOUT) -> None:
        self.published += 1
        outcome = BackendOutcome(
            kind=Kind.VECTOR, backend="main", ok=ok, failure=None if ok else failure, weight=weight
        )
        subject = subjects.backend_outcome(Kind.VECTOR, "main")
        await self.bus.publish(flow.OUTCOME, subject, outcome, f"outcome.{self.published}")

    async def fail(self, times: int) -> None:
        for _ in range(times):
            await self.outcome(ok=False)

    async def state(self) -> BackendState | None:
        stored = await self.bus.last("KV_backend_state", f"$KV.backend_state.{KEY}")
        return BackendState.from_json(stored.data) if stored is not None else None

    async def transitions(self) -> int:
        """How many states were ever stored."""
        info = await self.bus.js.stream_info("KV_backend_state")
        return info.state.last_seq

    async def until(self, health: BackendHealth, within_s: float = 30.0) -> BackendState:
        async def reached() -> BackendState | None:
            state = await self.state()
            return state if state is not None and state.state is health else None

        state: BackendState = await eventually(reached, within_s)
        return state

    @asynccontextmanager
    async def health(self, replicas: int = 1) -> AsyncIterator[list[Process]]:
        async with AsyncExitStack() as stack:
            settings = RuntimeSettings(nats_url=self.url, drain_timeout_s=1.0)
            yield [await stack.enter_async_context(compose(build, settings=settings)) for _ in range(replicas)]


@dataclass
class FakeWorkers:
    """One pool: answers every command as told, and beats."""

    bus: Bus
    failure: FailureKind | None = None
    silent: bool = False
    beating: bool = True
    delay_s: float = 0.0
    commands: list[RetrieveCommand] = field(default_factory=list)

    async def work(self) -> None:
        await ensure_consumer(self.bus.js, POOL)
        pull = await self.bus.js.pull_subscribe_bind(POOL.durable, POOL.stream)
        while True:
            with suppress(NatsTimeoutError):
                for msg in await pull.fetch(1, timeout=1):
                    await msg.ack()
                    await self._reply(RetrieveCommand.from_json(msg.data))

    async def _reply(self, command: RetrieveCommand) -> None:
        self.commands.append(command)
        await asyncio.sleep(self.delay_s)
        if self.silent:
            return
        reply = LaneReply(
            tenant=command.tenant,
            query_id=command.query_id,
            lane=command.lane,
            corpus=command.corpus,
            kind=command.kind,
            backend=command.backend,
            outcome=LaneOutcome.FAILED if self.failure else LaneOutcome.EMPTY,
            failure=Failure(kind=self.failure, message="told to") if self.failure else None,
            filter_digest=command.filter_digest,
        )
        subject = subjects.retrieved(command.tenant, command.query_id, command.lane)
        await self.bus.publish(flow.RETRIEVED, subject, reply, f"{command.tenant}.{command.query_id}.{command.lane}")

    async def beat(self) -> None:
        pools = (ServedPool(kind=Kind.VECTOR, pool="main", backends=("main",)),)
        beat = Heartbeat(service=Stage.BACKEND_WORKERS, instance="worker-1", version="0", ready=True, pools=pools)
        while True:
            if self.beating:
                subject = subjects.heartbeat(Stage.BACKEND_WORKERS, "worker-1")
                await self.bus.send(flow.HEARTBEAT, subject, beat)
            await asyncio.sleep(0.2)


async def set_up(bus: Bus) -> None:
    # A stream deleted by the test before may still be going from the disk: its name is refused for that long.
    for attempt in range(20):
        try:
            await ensure_topology(bus.js)
        except ServerError:
            if attempt == 19:
                raise
            await asyncio.sleep(0.05)
        else:
            return


@asynccontextmanager
async def deployed(url: str) -> AsyncIterator[Deployment]:
    client = await nats.connect(url, max_reconnect_attempts=-1, reconnect_time_wait=0.1)
    try:
        clock = BrokerClock()
        bus = Bus(client, clock, "test")
        await set_up(bus)
        await clock.measure(client)
        corpora = await bus.js.key_value(streams.CORPORA.name)
        await corpora.put(streams.corpus_key(CARD.tenant, CARD.corpus), CARD.to_json())
        yield Deployment(bus, url)
    finally:
        await client.close()


@pytest.fixture
async def deployment(nats_server: NatsServer) -> AsyncIterator[Deployment]:
    async with deployed(nats_server.url) as found:
        yield found


@pytest.fixture(name="eventually")
def eventually_() -> Callable[..., Any]:
    return eventually


@pytest.fixture
def deploy() -> Callable[[str], AbstractAsyncContextManager[Deployment]]:
    return deployed


@pytest.fixture
async def workers(deployment: Deployment) -> AsyncIterator[FakeWorkers]:
    fake = FakeWorkers(deployment.bus)
    tasks = [asyncio.create_task(fake.work()), asyncio.create_task(fake.beat())]
    yield fake
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Periods short enough for a test."""
    monkeypatch.setenv("FANFUSE_HEALTH_DEGRADED_FOR_S", "0.6")
    monkeypatch.setenv("FANFUSE_HEALTH_PROBE_BUDGET_MS", "400")
