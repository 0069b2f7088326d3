"""A flow with everything that an operator may have to see, one trouble after the other, under a real Prometheus.

In: a folder. Out: the Prometheus, to be asked afterwards. About a minute and a half; every trouble is of its own kind,
so that each panel and each rule has the moment it is made for.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nats
from nats.aio.msg import Msg
from opentelemetry.sdk.trace import SpanProcessor

from fanfuse_all_in_one.marking import clear_backend, mark_backend
from fanfuse_backend_workers.adapters.embedded import engines_in, texts_in
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.ports import EngineResult, SearchEngine, SearchError, SearchRequest
from fanfuse_backend_workers.service import build_with
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, Kind, Stage
from fanfuse_health.ports import BackendKey
from fanfuse_runtime.context import Context
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_runtime.setup import ensure_consumer
from fanfuse_testing.flow import Flow, eventually, running_flow, sample_chunk
from fanfuse_testing.ports import free_port
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library
from tests.flow.registered_cards import register
from tests.servers.prometheus import Prometheus

PAYING, SMALL, FLOODING = "acme", "globex", "initech"
CONFIG: Final = f"""
metrics:
  corpora: [{PAYING}/docs]
  tenant_classes:
    paying: [{PAYING}]
pressure:
  tenants:
    {FLOODING}: 1
retrieval:
  quorum:
    {FLOODING}: {{vector: may}}
"""
VECTOR: Final = BackendKey(Kind.VECTOR, "main")
GRAPH: Final = BackendKey(Kind.GRAPH, "main")
_PAUSE_S: Final = 2.5
"""Longer than two scrapes."""
_STATE_S: Final = 1.8
"""Longer than a scrape and a tick of health."""
_AWAY_S: Final = 23.0
"""Longer than the registry may be silent."""


@dataclass(slots=True)
class Trouble:
    """What the engines of these kinds do instead of answering at once."""

    kinds: tuple[Kind, ...] = ()
    failure: FailureKind | None = None
    delay_s: float = 0.0


class TroubledEngine:
    """A real engine, unless there is trouble."""

    def __init__(self, engine: SearchEngine, trouble: Trouble) -> None:
        self._engine, self._trouble = engine, trouble
        self.kind, self.operators = engine.kind, engine.operators

    async def search(self, request: SearchRequest) -> EngineResult:
        if self.kind in self._trouble.kinds:
            await asyncio.sleep(self._trouble.delay_s)
            if self._trouble.failure is not None:
                raise SearchError(self._trouble.failure, "trouble made by a test")
        return await self._engine.search(request)

    async def count(self) -> int:
        return await self._engine.count()

    async def close(self) -> None:
        await self._engine.close()


def _workers(context: Context, data: Path, trouble: Trouble) -> Service:
    open_engine = engines_in(data)

    async def opened(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        return TroubledEngine(await open_engine(card, wiring), trouble)

    return build_with(open_engine=opened, open_texts=texts_in(data), load_embedder=build_embedder)(context)


@dataclass(slots=True)
class Scenario:
    """The running flow and what watches it."""

    flow: Flow
    server: NatsServer
    prometheus: Prometheus
    trouble: Trouble
    asked: int = 0

    async def ask(self, tenant: str, count: int, *, at_once: int = 1, budget_ms: int = 20_000) -> None:
        """Ask so many queries; whatever the answers are, each query has one."""
        async with self.flow.client(tenant) as client:

            async def one(number: int) -> None:
                seeds = SEEDS if number % 2 else ()
                await client.ask(f"{QUESTION} {number}", graph_seeds=seeds, budget_ms=budget_ms, top_k=8)

            for first in range(0, count, at_once):
                await asyncio.gather(*(one(self.asked + first + number) for number in range(at_once)))
            self.asked += count

    async def run(self) -> None:
        """All of it, in order."""
        for step in (
            self.steady, self.failing_requests, self.slow, self.without_result, self.bad_messages, self.held_up,
            self.flooded, self.pressed, self.dropped, self.outage, self.flapping, self.stuck, self.bus_away,
            self.steady,
        ):  # fmt: skip
            await step()
            await asyncio.sleep(_PAUSE_S)

    async def steady(self) -> None:
        for tenant in (PAYING, SMALL) * 3:
            await self.ask(tenant, 8, at_once=4)
        async with self.flow.client(SMALL) as client:
            await client.ask(QUESTION, corpora=("notes",), graph_seeds=("zebra",), budget_ms=20_000)

    async def failing_requests(self) -> None:
        """Lanes fail by the request's own fault, so nothing is degraded."""
        self.trouble.kinds, self.trouble.failure = (Kind.VECTOR, Kind.GRAPH), FailureKind.NOT_FOUND
        await self.ask(PAYING, 24, at_once=4)
        self.trouble.kinds = ()

    async def slow(self) -> None:
        self.trouble.kinds, self.trouble.failure, self.trouble.delay_s = (Kind.VECTOR,), None, 2.5
        await self.ask(PAYING, 16, at_once=8)
        self.trouble.kinds = ()

    async def without_result(self) -> None:
        """Every lane fails, by the request's own fault: no backend is to blame."""
        self.trouble.kinds, self.trouble.failure = tuple(Kind), FailureKind.NOT_FOUND
        await self.ask(SMALL, 12, at_once=4)
        self.trouble.kinds, self.trouble.failure = (), None

    async def bad_messages(self) -> None:
        """A message that is no query, and a reply from somebody who was not asked."""
        nc = self.flow.operator.bus.nc
        await nc.publish(subjects.query_submitted(PAYING, "garbage"), b"{not json")
        await nc.publish(subjects.retrieved(PAYING, "spoken-for", "docs-stranger"), b"{}")
        await nc.flush()
        async with self.flow.client(PAYING) as client:
            await client.ask(QUESTION, query_id="spoken-for")

    async def held_up(self) -> None:
        """The process gets no CPU for longer than the broker waits for a sign of life."""

        async def hold() -> None:
            await eventually(lambda: self.flow.metric("fanfuse_in_flight", stage=Stage.FUSER.value) >= 24, 90.0)
            time.sleep(1.7)  # noqa: ASYNC251 - nothing else may run meanwhile

        self.trouble.kinds, self.trouble.delay_s = tuple(Kind), 0.5
        held = asyncio.create_task(hold())
        while not held.done():  # on a busy machine a burst comes so slowly that its first are answered before its last
            await self.ask(PAYING, 32, at_once=32)
        await held
        self.trouble.kinds, self.trouble.delay_s = (), 0.0

    async def flooded(self) -> None:
        """A tenant over its ceiling is refused; the others are not."""
        self.trouble.kinds, self.trouble.delay_s = (Kind.KEYWORD,), 0.2
        async with self.flow.client(FLOODING) as client:
            await asyncio.gather(
                *(client.ask(QUESTION, query_id=f"flood-{n}") for n in range(12)), return_exceptions=True
            )
        self.trouble.kinds, self.trouble.delay_s = (), 0.0

    async def pressed(self) -> None:
        """A pool whose oldest command has used up half of its budget: who can do without its lane, does."""
        self.trouble.kinds, self.trouble.delay_s = (Kind.VECTOR,), 6.0
        held = asyncio.create_task(self.ask(PAYING, 1, budget_ms=8_000))
        await eventually(lambda: self.flow.process.context.pools.look(Kind.VECTOR, "main").under_pressure)
        for _ in range(4):
            await self.ask(FLOODING, 1)
        await held
        self.trouble.kinds, self.trouble.delay_s = (), 0.0

    async def dropped(self) -> None:
        """A subscription that nobody reads."""
        opened = asyncio.Event()

        async def hear(_: Msg) -> None:
            await opened.wait()

        own = self.flow.process.context.bus.nc
        slow = await own.subscribe("test.slow", cb=hear, pending_msgs_limit=50)
        await own.flush()
        for _ in range(400):
            await self.flow.operator.bus.nc.publish("test.slow", b"")
        await self.flow.operator.bus.nc.flush()
        await eventually(lambda: self.flow.metric("fanfuse_slow_consumer_total") > 0)
        opened.set()
        await slow.unsubscribe()

    async def outage(self) -> None:
        """All but the keyword engine are gone, then back: failed, degraded, healthy."""
        self.trouble.kinds, self.trouble.failure = (Kind.VECTOR, Kind.GRAPH), FailureKind.UNAVAILABLE
        for _ in range(8):
            await self.ask(PAYING, 4, at_once=4)
            await self.ask(SMALL, 1)
        await asyncio.sleep(_PAUSE_S)
        self.trouble.kinds, self.trouble.failure = (), None
        for key in (VECTOR, GRAPH):
            await clear_backend(self.flow.operator, key, by="test", reason="mended")

    async def flapping(self) -> None:
        for _ in range(4):
            await mark_backend(self.flow.operator, VECTOR, by="test", reason="flapping", for_s=None)
            await asyncio.sleep(_STATE_S)
            await clear_backend(self.flow.operator, VECTOR, by="test", reason="flapping")
            await asyncio.sleep(_STATE_S)

    async def stuck(self) -> None:
        """A pool that nobody serves, with a command in its queue."""
        card = (await self.flow.operator.card(SMALL, "docs")).card
        assert card is not None
        lonely = Wiring(kind=Kind.KEYWORD, backend="lonely", pool="lonely")
        await register(self.flow, card.model_copy(update={"corpus": "lonely", "backends": (lonely,)}))
        await ensure_consumer(self.flow.operator.bus.js, streams.pool_consumer(Kind.KEYWORD, "lonely"))
        subject = subjects.retrieve(Kind.KEYWORD, "lonely", SMALL, "lonely")
        await self.flow.operator.bus.js.publish(subject, b"{}")
        await asyncio.sleep(8.0)

    async def bus_away(self) -> None:
        self.server.kill()
        await asyncio.sleep(_AWAY_S)
        self.server.start()
        nc = await nats.connect(self.server.url)
        await nc.close()
        await eventually(lambda: self.flow.metric("fanfuse_ready") == 1.0)


def notes() -> list[Chunk]:
    """Many that two kinds of lane agree on, and one that only the graph knows: it needs its reserved seat."""
    alike = [sample_chunk(f"note-{n}", f"How to read the lines of a text file, note {n}.") for n in range(30)]
    return [*alike, sample_chunk("odd", "A remark about stripes.", entities=("zebra",))]


@asynccontextmanager
async def watched_scenario(folder: Path) -> AsyncIterator[Scenario]:
    """The scenario, not run yet. One of the two targets is a process that does not exist."""
    (folder / "fanfuse.yaml").write_text(CONFIG)
    trouble = Trouble()
    services = {Stage.BACKEND_WORKERS: lambda context: _workers(context, folder / "data", trouble)}
    with NatsServer(folder / "nats") as server:
        # Spans are recorded and go nowhere: exemplars name only what is recorded.
        traced, config = SpanProcessor(), folder / "fanfuse.yaml"
        async with running_flow(
            server.url, folder / "data", services=services, config_file=config, span_processor=traced
        ) as flow:
            for tenant in (PAYING, SMALL, FLOODING):
                await flow.index(tenant, "docs", library(), FIELDS)
            await flow.index(SMALL, "notes", notes(), FIELDS)
            assert flow.process.ops is not None
            prometheus = Prometheus((f"127.0.0.1:{flow.process.ops.port}", f"127.0.0.1:{free_port()}"))
            try:
                prometheus.launch()
                await asyncio.to_thread(prometheus.wait_ready)
                yield Scenario(flow, server, prometheus, trouble)
            finally:
                prometheus.close()
