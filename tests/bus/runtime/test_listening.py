"""Core messages that every instance hears: anybody may publish them, one on an impossible subject is only ignored."""

import time

import structlog
from nats.aio.client import Client

from fanfuse_contracts import metrics, subjects
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.health import ProbeRequest
from fanfuse_runtime.compose import compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually
from fanfuse_testing.samples import counted


async def test_a_cancellation_of_no_tenant_or_query_is_ignored(nats_server: NatsServer, caller: Client) -> None:
    heard: list[tuple[str, str]] = []

    def build(context: Context) -> Service:
        router = ServiceRouter(Stage.FUSER, context)

        @router.listen(subjects.QUERY_CANCELLED)
        async def on_query_cancelled(delivery: Delivery) -> None:
            heard.append((delivery.tenant, delivery.query_id))

        return Service(Stage.FUSER, router)

    with structlog.testing.capture_logs() as logs:
        async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url)):
            for tenant, query_id in (("ACME", "X"), ("acme", "x$y"), ("a%b", "q1"), ("acme", "q1")):
                await caller.publish(f"{subjects.ROOT}.query.cancelled.{tenant}.{query_id}")
            await eventually(lambda: heard)
    assert heard == [("acme", "q1")]
    told = [log for log in logs if log["event"] in {"listen.ignored", "slots.work_failed"}]
    assert [(log["event"], log["log_level"], "exc_info" in log) for log in told] == [
        ("listen.ignored", "debug", False)
    ] * 3


async def test_a_flood_of_cancellations_is_dropped_and_other_messages_are_not(
    nats_server: NatsServer, caller: Client
) -> None:
    """What is over the bound of that subscription is dropped; a request is answered, the next cancellation heard."""
    heard: list[str] = []

    def build(context: Context) -> Service:
        router = ServiceRouter(Stage.FUSER, context)

        @router.listen(subjects.QUERY_CANCELLED)
        async def on_query_cancelled(delivery: Delivery) -> None:
            if not heard:
                time.sleep(0.5)  # noqa: ASYNC251 - the process has no CPU while they come
            heard.append(delivery.query_id)

        @router.respond(subjects.ROUTE_DECIDE, ProbeRequest, invalid=lambda _: ProbeRequest(by="nobody"))
        async def on_asked(delivery: Delivery, request: ProbeRequest) -> ProbeRequest:
            return request

        return Service(Stage.FUSER, router)

    async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url)) as process:
        for number in range(20_000):
            await caller.publish(subjects.query_cancelled("acme", f"x{number}"))
        asked = ProbeRequest(by="tester").to_json()
        reply = await caller.request(subjects.route_decide("acme"), asked, timeout=30)
        assert ProbeRequest.from_json(reply.data).by == "tester"
        await caller.publish(subjects.query_cancelled("acme", "last"))
        await eventually(lambda: "last" in heard)
        assert 0 < len(heard) < 20_000
        assert counted(process.metrics.registry, metrics.SLOW_CONSUMER_TOTAL.name) > 0
