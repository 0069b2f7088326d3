"""The broker restarts, and with it the stream of outcomes in memory: what health still knows of its backends."""

import asyncio

from fanfuse_contracts import streams
from fanfuse_contracts.enums import BackendHealth


async def test_successes_from_before_a_restart_weigh_against_failures_after_it(own_nats_server, deploy, eventually):
    """In an empty window three late calls would be all there is; the share keeps its meaning over a restart."""
    async with deploy(own_nats_server.url) as deployment, deployment.health(replicas=2) as replicas:
        connections = [deployment.bus.nc, *(each.context.bus.nc for each in replicas)]
        await deployment.outcome(ok=True, weight=100)
        await asyncio.sleep(1.0)
        own_nats_server.kill()
        await eventually(lambda: not any(each.is_connected for each in connections), 30)
        await asyncio.to_thread(own_nats_server.start)
        await eventually(lambda: all(each.is_connected for each in connections), 30)

        async def read_anew() -> bool:
            found = {info.config.name: info.state for info in await deployment.bus.js.streams_info()}
            state = found.get(streams.OUTCOMES.name)
            return state is not None and (state.messages, state.consumer_count) == (0, len(replicas))

        await eventually(read_anew, 30)
        await deployment.fail(5)
        await asyncio.sleep(1.5)
        assert await deployment.state() is None, "5 of 105 calls failed"
        await deployment.fail(1)
        state = await deployment.until(BackendHealth.DEGRADED, 30)
        assert state.reason == "6 calls failed in a row; 6 of 106 calls failed within 60 s"


async def test_a_probe_that_the_bus_interrupted_decides_nothing(own_nats_server, deploy, eventually, monkeypatch):
    """Nobody replies, and nobody knows whether anybody did: the lease ends, and the backend is probed again."""
    monkeypatch.setenv("FANFUSE_HEALTH_DEGRADED_FOR_S", "0.3")
    monkeypatch.setenv("FANFUSE_HEALTH_PROBE_BUDGET_MS", "2500")
    async with deploy(own_nats_server.url) as deployment, deployment.health() as (process,):
        connections = [deployment.bus.nc, process.context.bus.nc]
        await deployment.fail(3)
        claimed = await deployment.until(BackendHealth.HALF_OPEN, 30)
        own_nats_server.kill()
        await eventually(lambda: not any(each.is_connected for each in connections), 30)
        await asyncio.to_thread(own_nats_server.start)
        await eventually(lambda: all(each.is_connected for each in connections), 30)
        await asyncio.sleep(4.0)
        assert await deployment.state() == claimed
