"""Outcomes in, stored states out, on a real broker: thresholds, replicas, replays, restarts."""

import asyncio

from fanfuse_contracts.enums import BackendHealth, FailureKind, Kind

DEGRADED = BackendHealth.DEGRADED


async def test_three_failures_degrade_a_backend_for_everyone(deployment, eventually):
    async with deployment.health() as (process,):
        await deployment.fail(2)
        await deployment.outcome(ok=True, weight=3)
        await asyncio.sleep(0.3)
        assert await deployment.state() is None
        await deployment.fail(1)
        state = await deployment.until(DEGRADED)
        assert (state.version, state.failures, state.outcomes, state.until_s) == (1, 3, 6, 30.0)
        assert state.since.endswith("+00:00")
        await eventually(lambda: (Kind.VECTOR, "main") in process.context.backends.unhealthy)
        gauge = b'fanfuse_backend_degraded{backend="main",kind="vector"} 1.0'
        await eventually(lambda: gauge in process.metrics.exposition())


async def test_a_requests_own_fault_degrades_nothing(deployment):
    async with deployment.health():
        for kind in (FailureKind.BAD_REQUEST, FailureKind.TOO_LARGE, FailureKind.NOT_FOUND, FailureKind.EXPIRED):
            for _ in range(3):
                await deployment.outcome(ok=False, failure=kind)
        await asyncio.sleep(1.0)
        assert await deployment.transitions() == 0


async def test_three_replicas_store_one_version_per_transition(deployment):
    async with deployment.health(replicas=3):
        await deployment.fail(40)
        await deployment.until(DEGRADED)
        await asyncio.sleep(1.2)
        state = await deployment.state()
        assert (state.version, await deployment.transitions()) == (1, 1)


async def test_a_restart_replays_the_window(deployment):
    async with deployment.health():
        await deployment.fail(2)
        await asyncio.sleep(0.3)
    assert await deployment.state() is None
    async with deployment.health():
        await deployment.fail(1)
        state = await deployment.until(DEGRADED)
    assert state.failures == 3


async def test_a_replay_is_judged_as_a_whole(deployment):
    await deployment.fail(4)
    await deployment.outcome(ok=True, weight=1_000)
    async with deployment.health():
        await asyncio.sleep(1.5)
        assert await deployment.state() is None


async def test_failures_before_the_first_start_are_seen(deployment):
    await deployment.fail(3)
    async with deployment.health(replicas=2):
        assert (await deployment.until(DEGRADED)).version == 1


async def test_a_broker_that_was_killed_costs_neither_the_window_nor_the_states(own_nats_server, deploy, eventually):
    async with deploy(own_nats_server.url) as deployment, deployment.health() as (process,):
        await deployment.fail(2)
        await asyncio.sleep(0.3)
        own_nats_server.kill()
        await asyncio.to_thread(own_nats_server.start)
        await eventually(lambda: process.context.bus.nc.is_connected and deployment.bus.nc.is_connected)
        await asyncio.sleep(4.0)
        assert await deployment.state() is None
        # The memory stream is new, shorter than what was read before: its first outcome counts, beside those kept.
        await deployment.fail(1)
        assert (await deployment.until(DEGRADED)).failures == 3
        assert process._is_ready() is None
