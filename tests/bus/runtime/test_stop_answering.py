"""A stop answers the core requests it has taken: nobody would deliver them again."""

import asyncio

from nats.aio.client import Client

from fanfuse_contracts import subjects
from fanfuse_contracts.enums import RejectionCode, Stage
from fanfuse_contracts.plan import DecideReply, DecideRequest
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.compose import compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually

REQUESTS = 200
BODY = DecideRequest(query=SubmittedQuery(text="x")).to_json()


async def test_requests_in_flight_are_answered_and_new_ones_go_to_others(
    nats_server: NatsServer, caller: Client
) -> None:
    taken: list[str] = []
    closed: list[str] = []

    def build(context: Context) -> Service:
        router = ServiceRouter(Stage.CLASSIFIER, context)

        @router.respond(
            subjects.QUERY_DECIDE, DecideRequest, invalid=lambda rejection: DecideReply(rejection=rejection)
        )
        async def on_query_decide(delivery: Delivery, _: DecideRequest) -> DecideReply:
            assert context.instance not in closed
            taken.append(context.instance)
            await asyncio.sleep(0.05)
            return DecideReply()

        async def close() -> None:
            closed.append(context.instance)

        return Service(Stage.CLASSIFIER, router, close=close)

    settings = RuntimeSettings(nats_url=nats_server.url, drain_timeout_s=10.0)
    async with compose(build, settings=settings):
        async with compose(build, settings=settings) as stopping:
            asked = [
                asyncio.create_task(caller.request(subjects.query_decide("acme"), BODY, timeout=10))
                for _ in range(REQUESTS)
            ]
            await eventually(lambda: stopping.context.instance in taken, every_s=0.001)
        asked += [
            asyncio.create_task(caller.request(subjects.query_decide("acme"), BODY, timeout=10)) for _ in range(20)
        ]
        replies = await asyncio.gather(*asked)
    assert [DecideReply.from_json(reply.data) for reply in replies] == [DecideReply()] * (REQUESTS + 20)
    assert set(taken[-20:]) != {stopping.context.instance}


async def test_a_handler_that_breaks_answers_with_a_typed_rejection(nats_server: NatsServer, caller: Client) -> None:
    """Nobody redelivers a core request: without a reply its caller would wait for its whole time."""

    def build(context: Context) -> Service:
        router = ServiceRouter(Stage.CLASSIFIER, context)

        @router.respond(
            subjects.QUERY_DECIDE, DecideRequest, invalid=lambda rejection: DecideReply(rejection=rejection)
        )
        async def on_query_decide(delivery: Delivery, _: DecideRequest) -> DecideReply:
            raise RuntimeError("a fault of the handler")

        return Service(stage=Stage.CLASSIFIER, router=router)

    async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url)):
        reply = await caller.request(subjects.query_decide("acme"), BODY, timeout=5)
    rejection = DecideReply.from_json(reply.data).rejection
    assert rejection is not None
    assert (rejection.code, rejection.retryable) == (RejectionCode.INTERNAL, True)
