"""`nats micro` of every service: what is asked by `$SRV` and what is told every second are one."""

import asyncio
import json
from typing import Any

import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeoutError
from nats.micro.service import ServiceInfo, ServicePing, ServiceStats

from fanfuse_contracts import subjects
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.health import Heartbeat
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.compose import compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.micro import semantic
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings


async def ask(client: Client, subject: str, replies: int) -> list[dict[str, Any]]:
    """Every reply to a request that so many should answer; the server's "nobody is there" is none."""
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    await client.publish(subject, b"", reply=inbox)
    found: list[dict[str, Any]] = []
    try:
        while True:
            reply = await subscription.next_msg(timeout=0.2 if len(found) >= replies else 10)
            if reply.data:
                found.append(json.loads(reply.data))
    except NatsTimeoutError:
        return found
    finally:
        await subscription.unsubscribe()


async def handle(_context: Context, _delivery: Delivery, query: SubmittedQuery) -> None:
    if query.text == "broken":
        raise ValueError(query.text)


async def test_every_service_answers_by_all_by_name_and_by_instance(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    """The replies are those of the protocol: its own client reads them."""
    async with run_service(nats_server, handle) as one, run_service(nats_server, handle) as two:
        instances = {one.context.instance, two.context.instance}
        name = f"fanfuse-{one.services[0].stage.value}"
        assert {ServicePing.from_dict(each).id for each in await ask(caller, "$SRV.PING", 2)} == instances
        infos = [ServiceInfo.from_dict(each) for each in await ask(caller, f"$SRV.INFO.{name}", 2)]
        assert {(info.name, info.id) for info in infos} == {(name, instance) for instance in instances}
        (stats,) = await ask(caller, f"$SRV.STATS.{name}.{one.context.instance}", 1)
        assert ServiceStats.from_dict(stats).id == one.context.instance
        assert await ask(caller, "$SRV.PING.somebody-else", 0) == []
    assert await ask(caller, "$SRV.PING", 0) == []


async def test_the_heartbeat_is_the_info_response(nats_server: NatsServer, caller: Client, run_service) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    async with run_service(nats_server, handle) as process:
        stage = process.services[0].stage

        async def hear(msg: Any) -> None:
            heard.put_nowait(msg.data)

        await caller.subscribe(subjects.heartbeat(stage, process.context.instance), cb=hear)
        said = await asyncio.wait_for(heard.get(), 5)
        (asked,) = await ask(caller, f"$SRV.INFO.fanfuse-{stage.value}.{process.context.instance}", 1)
        told = json.loads(said)
        told.pop("recent"), asked.pop("recent")
        assert told == asked
        beat = Heartbeat.from_json(said)
        assert (beat.service, beat.id, beat.ready) == (stage, beat.instance, True)
        assert [endpoint.subject for endpoint in beat.endpoints] == [subjects.QUERY_SUBMITTED]


async def test_stats_count_what_was_handled_and_given_up(nats_server: NatsServer, caller: Client, run_service) -> None:
    async with run_service(nats_server, handle) as process:
        js = caller.jetstream()
        for number in range(3):
            body = SubmittedQuery(text="good").to_json()
            await js.publish(subjects.query_submitted("acme", f"q{number}"), body)
        await js.publish(subjects.query_submitted("acme", "bad"), b"{not json")
        subject = f"$SRV.STATS.fanfuse-{process.services[0].stage.value}"
        async with asyncio.timeout(10):
            while True:
                ((endpoint,),) = [each["endpoints"] for each in await ask(caller, subject, 1)]
                if endpoint["num_requests"] == 4:
                    break
        assert (endpoint["num_errors"], endpoint["last_error"]) == (1, "invalid_query")
        assert endpoint["processing_time"] >= endpoint["average_processing_time"] > 0


async def test_services_of_one_process_are_told_apart(nats_server: NatsServer, caller: Client) -> None:
    from fanfuse_corpus_router.service import build as router
    from fanfuse_health.service import build as health

    async with compose(router, health, settings=RuntimeSettings(nats_url=nats_server.url)) as process:
        names = {each["name"]: each["id"] for each in await ask(caller, "$SRV.PING", 2)}
        assert names == dict.fromkeys(
            (f"fanfuse-{Stage.CORPUS_ROUTER.value}", f"fanfuse-{Stage.HEALTH.value}"), process.context.instance
        )


@pytest.mark.parametrize(
    ("version", "told"),
    [("0.1.0", "0.1.0"), ("0.2.0.dev1", "0.2.0-dev1"), ("1.2.3rc1", "1.2.3-rc1"), ("1.0.0+local.7", "1.0.0-local-7"),
     ("2", "0.0.0")],
)  # fmt: skip
def test_any_python_version_is_told_as_a_semantic_one(version: str, told: str) -> None:
    assert semantic(version) == told
