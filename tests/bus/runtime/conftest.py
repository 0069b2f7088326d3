"""A small service on the real bus, whose handler a test gives."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import nats
import pytest
from nats.aio.client import Client

from fanfuse_contracts import streams
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.answers import publish_refusal
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service, ServiceFactory
from fanfuse_runtime.settings import RuntimeSettings

Handler = Callable[[Context, Delivery, SubmittedQuery], Awaitable[None]]
RunService = Callable[..., AbstractAsyncContextManager[Process]]


def service_with(handler: Handler, in_flight: int) -> ServiceFactory:
    def build(context: Context) -> Service:
        router = ServiceRouter(Stage.CLASSIFIER, context)

        async def on_failed(delivery: Delivery, rejection: Rejection) -> None:
            await publish_refusal(
                context.bus, context.metrics, delivery.tenant, delivery.query_id, rejection, delivery.stored_ns
            )

        @router.consume(streams.CLASSIFIER_CONSUMER, SubmittedQuery, in_flight=in_flight, on_failed=on_failed)
        async def on_query_submitted(delivery: Delivery, query: SubmittedQuery) -> None:
            await handler(context, delivery, query)

        return Service(Stage.CLASSIFIER, router)

    return build


@pytest.fixture
def run_service() -> RunService:
    """`async with run_service(server, handler) as process`."""

    @asynccontextmanager
    async def run(
        server: NatsServer, handler: Handler, *, in_flight: int = 16, drain_timeout_s: float = 5.0
    ) -> AsyncIterator[Process]:
        settings = RuntimeSettings(nats_url=server.url, ops_port=0, drain_timeout_s=drain_timeout_s)
        async with compose(service_with(handler, in_flight), settings=settings) as process:
            yield process

    return run


@pytest.fixture
async def caller(nats_server: NatsServer) -> AsyncIterator[Client]:
    """A plain connection, as a caller without our client has."""
    client = await nats.connect(nats_server.url)
    yield client
    await client.close()
