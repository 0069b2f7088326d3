"""Probes through the real streams: recovery, one at a time, absent pools."""

import asyncio

import pytest

from fanfuse_contracts.enums import BackendHealth, FailureKind, Kind

DEGRADED, HALF_OPEN, HEALTHY = BackendHealth.DEGRADED, BackendHealth.HALF_OPEN, BackendHealth.HEALTHY


@pytest.mark.usefixtures("fast")
async def test_three_replicas_send_one_probe_and_the_backend_recovers(deployment, workers):
    """HEA-01 on a real broker."""
    workers.delay_s = 0.3
    async with deployment.health(replicas=3):
        await deployment.fail(3)
        await deployment.until(DEGRADED)
        state = await deployment.until(HEALTHY)
        await asyncio.sleep(1.0)
        assert (state.version, await deployment.transitions()) == (3, 3)
        assert len(workers.commands) == 1
        command = workers.commands[0]
        assert (command.tenant, command.corpus, command.lane, command.window) == ("acme", "docs", "probe", 1)
        assert command.query_id.startswith("probe-")


@pytest.mark.usefixtures("fast")
async def test_a_failing_probe_degrades_again_and_a_request_caused_failure_does_not(deployment, workers, eventually):
    workers.failure = FailureKind.UNAVAILABLE
    async with deployment.health():
        await deployment.fail(3)
        await eventually(lambda: len(workers.commands) >= 2)
        state = await deployment.until(DEGRADED)
        assert state.reason == "probe failed: unavailable"
        workers.failure = FailureKind.NOT_FOUND
        assert (await deployment.until(HEALTHY)).reason == "probe passed: not_found"


@pytest.mark.usefixtures("fast")
async def test_a_probe_without_reply_fails(deployment, workers, eventually):
    workers.silent = True
    async with deployment.health():
        await deployment.fail(3)
        await eventually(lambda: len(workers.commands) == 2)
        state = await deployment.until(DEGRADED)
        assert state.reason == "probe failed: no reply in time"


async def test_a_worker_that_is_back_is_asked_at_once(deployment, workers, eventually):
    """The period is 30 s; the pool was away for more than 3 s and returns."""
    async with deployment.health() as (process,):
        workers.beating = False
        await deployment.fail(3)
        await deployment.until(DEGRADED)
        await eventually(lambda: process.context.pools.absent(Kind.VECTOR, "main"))
        await asyncio.sleep(1.0)
        assert workers.commands == []
        workers.beating = True
        await deployment.until(HEALTHY, within_s=15.0)
        assert len(workers.commands) == 1
