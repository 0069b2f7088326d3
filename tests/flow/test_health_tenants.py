"""One tenant's bad or endless queries: what they cost the others, and the backends' good name."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind, RejectionCode, Status
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, library
from tests.flow.server_flow import serving, write_config

pytestmark = pytest.mark.asyncio(loop_scope="module")

BAD, GOOD = "acme", "globex"
BUDGET_MS = 30_000
FLOOD, CEILING = 400, 32
MODEL = "all-MiniLM-L6-v2"


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def corpora(flow: Flow) -> AsyncIterator[None]:
    for tenant in (BAD, GOOD):
        await flow.index(tenant, "docs", library(), FIELDS)
    yield


def bad_bodies() -> list[bytes]:
    """Ten ways to be wrong or too much, each ten times."""
    heavy = " ".join(f"word{number}" for number in range(1_000))[:8_100]
    year = {"field": "year", "op": "eq", "value": "text"}
    ways = (
        b"{not json",
        b"[]",
        b"\xff\xfe",
        body(unknown=1),
        body(text="a" * 200_000),
        body(window=100_000),
        body(filter={"field": "nowhere", "op": "eq", "value": 1}),
        body(filter=year),
        body(vector={"model": MODEL, "values": [1.0, 2.0]}),
        body(text=heavy, window=500, top_k=100),
    )
    return [way for way in ways for _ in range(10)]


def body(**fields: Any) -> bytes:
    """A query of somebody who may read everything."""
    stated = {"text": QUESTION, "budget_ms": BUDGET_MS, "principal": {"id": "tester"}}
    return json.dumps(stated | fields).encode()


async def test_hea02_a_hundred_bad_queries_of_one_tenant_degrade_nothing_for_others(
    flow: Flow, say: Callable[[str], None]
) -> None:
    """HEA-02: malformed, oversized and heavy queries of one tenant, and good ones of another in between."""
    before = await outcomes(flow)
    nc, answered = flow.operator.bus.nc, Counter[str]()

    async def hear(msg: Msg) -> None:
        answer = Answer.from_json(msg.data)
        answered[answer.rejection.code.value if answer.rejection else answer.status.value] += 1

    bodies = bad_bodies()
    async with flow.operator.bus.subscribed(subjects.answered_of_tenant(BAD), hear), flow.client(GOOD) as client:
        await nc.flush()
        bad = [nc.publish(subjects.query_submitted(BAD, f"bad{n}"), body) for n, body in enumerate(bodies)]
        await asyncio.gather(*bad)
        answers = [await client.ask(QUESTION, budget_ms=BUDGET_MS) for _ in range(30)]
        await eventually(lambda: answered.total() == len(bodies), 60)
    say(f"one tenant's {len(bodies)} bad queries: {dict(sorted(answered.items()))}; another's 30: all complete")
    assert {answer.status for answer in answers} == {Status.COMPLETE}
    assert not any(answer.bm25_fallback for answer in answers)
    assert answered[RejectionCode.TOO_LARGE.value] >= 10
    assert [await flow.backend_state(f"{kind.value}.main") for kind in Kind] == [None, None, None]
    assert await outcomes(flow) == before, "no failure was told to health"


async def outcomes(flow: Flow) -> int:
    """Failures that workers or fuser told health of."""
    found = 0
    info = await flow.operator.bus.js.stream_info(streams.OUTCOMES.name)
    for sequence in range(info.state.first_seq or 1, info.state.last_seq + 1):
        message = await flow.operator.bus.js.get_msg(streams.OUTCOMES.name, sequence)
        found += b'"ok":false' in (message.data or b"")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("ceiling", [CEILING, 0], ids=["ceiling", "no ceiling"])
async def test_a_flood_of_one_tenant_is_refused_and_others_are_answered_in_time(
    tmp_path: Path, say: Callable[[str], None], ceiling: int
) -> None:
    """400 queries at once of one tenant, five a second of another meanwhile."""
    file = write_config(tmp_path, {}, pressure={"tenant_in_flight": ceiling})
    async with serving(tmp_path, file) as flow:
        for tenant in (BAD, GOOD):
            await flow.index(tenant, "docs", library(), FIELDS)
        async with flow.client(BAD) as flooding, flow.client(GOOD) as client:

            async def good(number: int) -> Answer:
                await asyncio.sleep(number / 5)
                return await client.ask(QUESTION, budget_ms=BUDGET_MS)

            floods = [flooding.ask(QUESTION, budget_ms=BUDGET_MS) for _ in range(FLOOD)]
            flood, answers = await asyncio.gather(
                asyncio.gather(*floods), asyncio.gather(*(good(number) for number in range(20)))
            )
    codes = Counter(answer.rejection.code.value if answer.rejection else answer.status.value for answer in flood)
    waited = sorted(answer.elapsed_ms for answer in answers)
    say(
        f"{FLOOD} queries at once of one tenant, at most {ceiling or 'any number'} in flight: {dict(codes)}; another's "
        f"20 took {waited[10]:.0f} ms at the median, {waited[-1]:.0f} ms at most"
    )
    assert all(answer.rejection.retryable for answer in flood if answer.rejection)
    # Engines may be overloaded too; the ceiling's refusal says what it is.
    at_ceiling = sum("queries in flight" in answer.rejection.message for answer in flood if answer.rejection)
    if ceiling:
        assert {answer.status for answer in answers} <= {Status.COMPLETE, Status.PARTIAL}
        assert at_ceiling > 0
        assert codes.total() - codes[RejectionCode.OVERLOADED.value] >= ceiling
    else:
        assert at_ceiling == 0
