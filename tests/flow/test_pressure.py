"""A pool whose oldest command is older than half its budget: lanes that may be missing are shed, named and counted."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from fanfuse_backend_workers.adapters.embedded import engines_in, texts_in
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.ports import EngineResult, SearchEngine, SearchRequest
from fanfuse_backend_workers.service import build_with
from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, LaneOutcome, Stage, Status
from fanfuse_contracts.quorum import Requirement
from fanfuse_runtime.context import Context
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_testing.flow import Flow, eventually, running_flow
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library
from tests.flow.server_flow import write_config

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAY, SHOULD, MUST = "acme", "globex", "initech"
"""Tenants, by what the loss of a vector lane means to them; all are served by one pool."""
HELD = "a question that the engine holds"
HELD_BUDGET_MS, BUDGET_MS = 6_000, 20_000
ASKED = {LaneOutcome.ANSWERED, LaneOutcome.NOT_WAITED}
"""What becomes of a lane that may be missing and was asked."""


@dataclass(slots=True)
class Stall:
    """The vector engine holds one question until it may go on."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)


class StallingEngine:
    """A real engine that holds one question."""

    def __init__(self, engine: SearchEngine, stall: Stall) -> None:
        self._engine, self._stall = engine, stall
        self.kind, self.operators = engine.kind, engine.operators

    async def search(self, request: SearchRequest) -> EngineResult:
        if request.text == HELD:
            self._stall.reached.set()
            await self._stall.let_go.wait()
        return await self._engine.search(request)

    async def count(self) -> int:
        return await self._engine.count()

    async def close(self) -> None:
        await self._engine.close()


def _workers(context: Context, data: Path, stall: Stall) -> Service:
    open_engine = engines_in(data)

    async def opened(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        engine = await open_engine(card, wiring)
        return StallingEngine(engine, stall) if wiring.kind is Kind.VECTOR else engine

    return build_with(open_engine=opened, open_texts=texts_in(data), load_embedder=build_embedder)(context)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stalled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Flow, Stall]]:
    folder, stall = tmp_path_factory.mktemp("pressure"), Stall()
    quorum = {MAY: {"vector": "may"}, MUST: {"vector": "must"}}
    file = write_config(folder, {}, retrieval={"quorum": quorum})
    services = {Stage.BACKEND_WORKERS: lambda context: _workers(context, folder / "data", stall)}
    with NatsServer(folder / "nats") as server:
        async with running_flow(server.url, folder / "data", services=services, config_file=file) as flow:
            for tenant in (MAY, SHOULD, MUST):
                await flow.index(tenant, "docs", library(), FIELDS)
            yield flow, stall
            stall.let_go.set()


async def ask(flow: Flow, tenant: str, text: str = QUESTION, budget_ms: int = BUDGET_MS) -> Answer:
    async with flow.client(tenant) as client:
        return await client.ask(text, graph_seeds=SEEDS, budget_ms=budget_ms)


def vector_lane(answer: Answer) -> LaneReport:
    (report,) = (report for report in answer.coverage.lanes if report.kind is Kind.VECTOR)
    return report


async def test_what_may_be_missing_is_shed_under_pressure_named_and_counted(stalled: tuple[Flow, Stall]) -> None:
    """Only `may`: for those whose answer needs the lane, slow is better than without it."""
    flow, stall = stalled
    before = await ask(flow, MAY)
    assert (before.status, vector_lane(before).outcome in ASKED) == (Status.COMPLETE, True)
    assert counted(flow) == dict.fromkeys(Kind, 0.0), "each wired backend has its series from the start"
    # The tenant whose answers need the lane holds the pool up: its own query waits for it.
    held = asyncio.create_task(ask(flow, MUST, HELD, HELD_BUDGET_MS))
    await stall.reached.wait()
    assert not vector_lane(await ask(flow, MAY)).shed, "a command in hand is no pressure while it is young"
    await eventually(lambda: flow.process.context.pools.look(Kind.VECTOR, "main").under_pressure)

    without, needs, fails = [await ask(flow, tenant) for tenant in (MAY, SHOULD, MUST)]
    assert not held.done()
    shed = vector_lane(without)
    assert (shed.outcome, shed.requirement, shed.shed) == (LaneOutcome.SKIPPED_UNHEALTHY, Requirement.MAY, True)
    assert shed.reason == "pressure: a command of pool main has used up more than half of its budget"
    assert without.status is Status.COMPLETE
    assert {report.kind for report in without.coverage.lanes if report.outcome is LaneOutcome.ANSWERED} == {
        Kind.KEYWORD, Kind.GRAPH
    }  # fmt: skip
    for answer in (needs, fails):
        assert (vector_lane(answer).outcome, vector_lane(answer).shed) == (LaneOutcome.ANSWERED, False)
    assert counted(flow) == {Kind.VECTOR: 1.0, Kind.KEYWORD: 0.0, Kind.GRAPH: 0.0}

    stall.let_go.set()
    assert (await held).status is Status.COMPLETE
    await eventually(lambda: not flow.process.context.pools.look(Kind.VECTOR, "main").under_pressure)
    after = await ask(flow, MAY)
    assert (after.status, vector_lane(after).outcome in ASKED) == (Status.COMPLETE, True)
    assert counted(flow)[Kind.VECTOR] == 1.0


def counted(flow: Flow) -> dict[Kind, float]:
    """Shed lanes so far."""
    return {kind: flow.metric("fanfuse_shed_lanes_total", kind=kind.value, backend="main") for kind in Kind}
