"""One tenant floods the flow, every service a process of its own: what it costs others, and the engines' good name."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.health import BackendOutcome
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_testing.flow import eventually
from fanfuse_testing.processes import Processes
from tests.flow.airships import FIELDS, QUESTION, library

# A flood takes the CPU that other tests run on.
pytestmark = [pytest.mark.nightly, pytest.mark.asyncio(loop_scope="module")]

BAD, GOOD = "acme", "globex"
FLOODS, QUERIES = 3, 3_000


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def services(processes: Processes) -> AsyncIterator[None]:
    """One of every service on embedded engines, and a corpus of each tenant."""
    for stage in Stage:
        processes.launch(stage, stage.value)
    await processes.ready()
    for tenant in (BAD, GOOD):
        await processes.index(tenant, "docs", library(), FIELDS)
    yield


async def is_idle(processes: Processes) -> bool:
    loads = await processes.operator.stream_loads()
    return not any(load.messages for load in loads if load.stream in {streams.QUERIES.name, streams.RETRIEVE.name})


async def test_hea02_a_flood_of_small_queries_degrades_no_engine(
    processes: Processes, say: Callable[[str], None]
) -> None:
    """HEA-02: thousands of queries at once, most of which expire; the engines answered all that reached them."""
    nc, failures, answered = processes.operator.bus.nc, Counter[str](), Counter[str]()
    body = SubmittedQuery(text="zip archive", principal=Principal(id="tester")).to_json()

    async def hear(msg: Msg) -> None:
        outcome = BackendOutcome.from_json(msg.data)
        if not outcome.ok:
            failures[f"{outcome.kind.value}: {outcome.message}"] += 1

    outcomes = f"{subjects.ROOT}.backend.outcome.>"
    async with processes.operator.bus.subscribed(outcomes, hear), processes.client(GOOD) as client:
        for flood in range(FLOODS):
            for number in range(QUERIES):
                await nc.publish(subjects.query_submitted(BAD, f"flood{flood}-{number}"), body)
            for _ in range(20):
                answer = await client.ask(QUESTION)
                answered[answer.rejection.code.value if answer.rejection else answer.status.value] += 1
                await asyncio.sleep(0.1)
            await eventually(lambda: is_idle(processes), within_s=60.0)
    say(f"{FLOODS} floods of {QUERIES} queries: failures told {dict(failures)}; another tenant's {dict(answered)}")
    assert [await processes.backend_state(f"{kind.value}.main") for kind in Kind] == [None, None, None]
    assert not failures
    assert "unconfirmed" not in answered
