"""What a process knows of the time in which its bus was away."""

import asyncio

import pytest

from fanfuse_contracts import flow
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.health import BackendOutcome
from fanfuse_runtime.compose import compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.errors import UnacknowledgedError
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually

BUDGET_MS = 400
LONG_MS = 600_000


def build(context: Context) -> Service:
    return Service(stage=Stage.HEALTH, router=ServiceRouter(Stage.HEALTH, context))


async def test_an_outage_is_known_for_one_budget_after_it(own_nats_server: NatsServer) -> None:
    async with compose(build, settings=RuntimeSettings(nats_url=own_nats_server.url)) as process:
        bus = process.context.bus
        before_ns = bus.now_ns()
        assert not bus.was_interrupted(before_ns, LONG_MS), "a start is no outage"

        own_nats_server.kill()
        await eventually(lambda: not bus.nc.is_connected, 30)
        assert bus.was_interrupted(before_ns, BUDGET_MS)
        assert bus.was_interrupted(bus.now_ns(), 0), "it is not connected now"

        await asyncio.to_thread(own_nats_server.start)
        await eventually(lambda: bus.nc.is_connected, 30)
        await asyncio.sleep(0.5)
        assert bus.was_interrupted(before_ns, BUDGET_MS), "a query from before waited through it"
        assert not bus.was_interrupted(bus.now_ns(), BUDGET_MS), "what had waited is answered or expired by now"
        assert bus.was_interrupted(bus.now_ns(), LONG_MS), "of a longer budget it may still wait"


async def test_a_stream_that_does_not_answer_is_an_interruption_too(own_nats_server: NatsServer) -> None:
    """While a cluster elects a stream's leader its other streams answer: the connection is never lost."""
    async with compose(build, settings=RuntimeSettings(nats_url=own_nats_server.url)) as process:
        bus = process.context.bus
        before_ns = bus.now_ns()
        silent = await bus.nc.subscribe("silent")  # it takes the message and never answers
        note = BackendOutcome(kind=Kind.GRAPH, backend="main", ok=True)
        with pytest.raises(UnacknowledgedError):
            await bus.publish(flow.OUTCOME, "silent", note, "one")
        await silent.unsubscribe()
        assert bus.nc.is_connected
        assert bus.was_interrupted(before_ns, BUDGET_MS)
        await asyncio.sleep(0.5)
        assert not bus.was_interrupted(bus.now_ns(), BUDGET_MS)
