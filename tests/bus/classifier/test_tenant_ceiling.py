"""A tenant's ceiling over two classifiers on a real broker: what is over it is refused, typed, to be asked again."""

import asyncio
from collections import Counter
from functools import partial

from fanfuse_classifier.service import build
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import RejectionCode, Status
from fanfuse_contracts.pressure import PressureConfig
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually

CEILING, REPLICAS = 20, 2
CONFIG = FanfuseConfig(pressure=PressureConfig(tenant_in_flight=CEILING, tenants={"initech": 0}))


async def ask(client, tenant: str, first: int, count: int) -> Counter[str]:
    """What became of each query: `in flow`, or the code of its refusal. Nobody plans, so what enters stays."""
    refused: dict[str, Answer] = {}

    async def hear(msg) -> None:
        refused[subjects.parse_query(msg.subject).query_id] = Answer.from_json(msg.data)

    subscription = await client.subscribe(subjects.answered_of_tenant(tenant), cb=hear)
    js = client.jetstream()
    before = await in_flow(js, tenant)
    body = SubmittedQuery(text="annual leave", budget_ms=30_000).to_json()
    await asyncio.gather(
        *(js.publish(subjects.query_submitted(tenant, f"q{first + number}"), body) for number in range(count))
    )
    async with asyncio.timeout(30):
        while True:
            entered = await in_flow(js, tenant) - before
            if entered + len(refused) >= count:
                break
            await asyncio.sleep(0.05)
    await subscription.unsubscribe()
    for answer in refused.values():
        assert answer.rejection is not None
        assert (answer.status, answer.rejection.retryable) == (Status.REJECTED, True)
        assert "ask again" in answer.rejection.message
    codes = (answer.rejection.code.value for answer in refused.values() if answer.rejection)
    return Counter(codes) + Counter({"in flow": entered})


def knows_all(process) -> bool:
    ready = [beat for beat in process.context.pools.alive if beat.ready]
    return len(ready) == REPLICAS


async def in_flow(js, tenant: str) -> int:
    info = await js.stream_info(streams.QUERIES.name, subjects_filter=subjects.query_classified_of(tenant))
    return sum((info.state.subjects or {}).values())


async def test_a_flood_is_refused_above_the_ceiling_and_other_tenants_are_not(nats_server, client):
    settings = RuntimeSettings(nats_url=nats_server.url)
    async with (
        compose(build, settings=settings, config=CONFIG) as one,
        compose(build, settings=settings, config=CONFIG) as two,
    ):
        for process in (one, two):
            await eventually(partial(knows_all, process))
        flood = await ask(client, "acme", 0, 100)
        assert set(flood) == {"in flow", RejectionCode.OVERLOADED.value}
        assert CEILING <= flood["in flow"] <= CEILING * 9 / 8 + REPLICAS
        assert await ask(client, "globex", 0, 10) == {"in flow": 10}
        assert await ask(client, "initech", 0, 100) == {"in flow": 100}, "without a ceiling"
        # What is answered makes room, whoever answered it.
        js = client.jetstream()
        await js.purge_stream(streams.QUERIES.name, subject=subjects.query_classified_of("acme"))
        await asyncio.sleep(0.2)
        assert (await ask(client, "acme", 100, 15))["in flow"] == 15
