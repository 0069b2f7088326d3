"""The broker restarts while queries wait for their lanes: they are answered, and no backend is blamed for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from fanfuse_contracts import subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import FailureKind, Kind, Stage, Status
from fanfuse_contracts.health import BackendOutcome
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import Flow, eventually, running_flow
from fanfuse_testing.simulated import CARD, TENANT, Delay, simulated_workers
from tests.flow.registered_cards import register

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUERIES, BUDGET_MS, SEARCH_MS = 12, 4_500, "1500"
"""A search is under way when the broker goes; done again after it is back, its reply comes too late."""


@pytest_asyncio.fixture(loop_scope="module")
async def restarted(tmp_path: Path) -> AsyncIterator[tuple[Flow, NatsServer]]:
    workers = simulated_workers(Delay.parse_ms(SEARCH_MS))
    with NatsServer(tmp_path / "nats") as server:
        async with running_flow(server.url, tmp_path / "data", services={Stage.BACKEND_WORKERS: workers}) as flow:
            await register(flow, CARD)
            yield flow, server


async def test_no_backend_is_blamed_for_an_outage_of_the_bus(restarted: tuple[Flow, NatsServer]) -> None:
    flow, server = restarted
    blamed: Counter[tuple[Kind, FailureKind | None]] = Counter()

    async def hear(msg: Msg) -> None:
        outcome = BackendOutcome.from_json(msg.data)
        if not outcome.ok:
            blamed[outcome.kind, outcome.failure] += 1

    async with flow.operator.bus.subscribed(f"{subjects.ROOT}.backend.outcome.>", hear), flow.client(TENANT) as client:
        await flow.operator.bus.nc.flush()
        query = SubmittedQuery(text="What did Alice say?", budget_ms=BUDGET_MS)
        asked = [asyncio.create_task(client.ask(query)) for _ in range(QUERIES)]
        await asyncio.sleep(0.7)
        server.kill()
        await asyncio.sleep(2.0)
        await asyncio.to_thread(server.start)
        answers = await asyncio.gather(*asked)
        # What they were asked for in vain is known by now, and told if at all.
        later = await eventually(lambda: _whole(flow), 60)
    assert any(answer.status is not Status.COMPLETE for answer in answers), "the outage cost no answer a lane"
    assert later.status is Status.COMPLETE
    assert blamed == {}
    assert [await flow.backend_state(f"{kind.value}.main") for kind in Kind] == [None, None, None]


async def _whole(flow: Flow) -> Answer | None:
    async with flow.client(TENANT) as client:
        answer = await client.ask(SubmittedQuery(text="And later?", budget_ms=20_000))
    return answer if answer.status is Status.COMPLETE else None
