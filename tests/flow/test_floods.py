"""One tenant floods the flow, every service a process of its own: what it costs others, and the engines' good name."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from secrets import token_hex

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from fanfuse_contracts import limits, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind, RejectionCode, Stage, Status
from fanfuse_contracts.health import BackendOutcome
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_testing.flow import eventually
from fanfuse_testing.processes import Processes
from tests.flow.airships import FIELDS, QUESTION, library

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

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


async def test_a_flood_of_heavy_queries_leaves_others_their_share(
    processes: Processes, say: Callable[[str], None]
) -> None:
    """One tenant keeps 300 of the heaviest queries waiting, each asked again a second after a refusal."""
    nc, flooding, flood = processes.operator.bus.nc, True, Counter[str]()
    asked: set[asyncio.Task[None]] = set()
    terms = tuple(f"term{number}" for number in range(limits.MAX_EXPANSION_TERMS))
    text = " ".join(f"word{number}" for number in range(1_000))[: limits.MAX_TEXT_BYTES - 100]
    heavy = SubmittedQuery(
        text=text,
        expansion_terms=terms,
        top_k=limits.MAX_TOP_K,
        window=limits.MAX_WINDOW,
        budget_ms=limits.MAX_BUDGET_MS,
        principal=Principal(id="tester"),
    ).to_json()

    async def ask_again(after_s: float) -> None:
        await asyncio.sleep(after_s)
        if flooding:
            await nc.publish(subjects.query_submitted(BAD, f"heavy-{token_hex(8)}"), heavy)

    async def hear(msg: Msg) -> None:
        rejection = Answer.from_json(msg.data).rejection
        flood[rejection.code.value if rejection else "answered"] += 1
        task = asyncio.create_task(ask_again(1.0 if rejection else 0.0))
        asked.add(task)
        task.add_done_callback(asked.discard)

    async with (
        processes.operator.bus.subscribed(subjects.answered_of_tenant(BAD), hear),
        processes.client(GOOD) as client,
    ):
        answers = []
        await asyncio.gather(*(ask_again(0.0) for _ in range(300)))
        for _ in range(40):
            answers.append(await client.ask(QUESTION, budget_ms=10_000))
            await asyncio.sleep(0.1)
        flooding = False
        await eventually(lambda: is_idle(processes), within_s=60.0)
    waited_ms = sorted(answer.elapsed_ms for answer in answers)
    statuses = Counter(answer.status.value for answer in answers)
    say(
        f"300 heavy queries of one tenant all the time: {dict(flood)}; another's 40: {dict(statuses)}, "
        f"median {waited_ms[20]:.0f} ms, at most {waited_ms[-1]:.0f} ms"
    )
    assert statuses[Status.COMPLETE.value] >= 35
    assert flood[RejectionCode.OVERLOADED.value] > 100
