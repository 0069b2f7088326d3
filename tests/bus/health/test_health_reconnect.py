"""A broker that is restarted, and a state that is changed at once: every router follows as soon as it is connected."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from fanfuse_all_in_one import marking
from fanfuse_all_in_one.operating import operator_on
from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_contracts.health import BackendState
from fanfuse_corpus_router.service import build as build_router
from fanfuse_health.ports import BackendKey
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.settings import RuntimeSettings

pytestmark = pytest.mark.slow

KEY = BackendKey(Kind.VECTOR, "main")
REPLICAS, ROUNDS = 3, 5
FOLLOWS_WITHIN_S = 2.0


class Follower:
    """When a router was connected again, and when it knew of each version."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.knew: dict[int, float] = {}
        process.context.backends.on_change(self._on_change)

    def _on_change(self, _key: str, state: BackendState | None) -> None:
        if state is not None:
            self.knew[state.version] = time.monotonic()

    async def connected_at(self) -> float:
        client = self.process.context.bus.nc
        while True:
            if client.is_connected:
                return time.monotonic()
            await asyncio.sleep(0.002)


async def test_every_router_follows_a_state_that_changes_right_after_a_restart(
    own_nats_server, deploy, eventually, say: Callable[[str], None]
):
    """NAT-12: a watch can be blind for many seconds after a restart; routers read the bucket again instead."""
    took: list[float] = []
    async with deploy(own_nats_server.url) as deployment, AsyncExitStack() as stack:
        settings = RuntimeSettings(nats_url=own_nats_server.url, drain_timeout_s=1.0)
        routers = [
            Follower(await stack.enter_async_context(compose(build_router, settings=settings))) for _ in range(REPLICAS)
        ]
        for number in range(ROUNDS):
            own_nats_server.kill()
            await eventually(lambda: not any(each.process.context.bus.nc.is_connected for each in routers), 15)
            connected = [asyncio.create_task(router.connected_at()) for router in routers]
            await asyncio.to_thread(own_nats_server.start)
            started_at = time.monotonic()
            async with operator_on(own_nats_server.url) as operator:
                state = await marking.mark_backend(operator, KEY, by="t", reason=f"round {number}", for_s=None)
                changed_at = time.monotonic()
            await eventually(lambda version=state.version: all(version in each.knew for each in routers), 60)
            at = [await task for task in connected]
            took += [
                max(0.0, router.knew[state.version] - max(back, changed_at))
                for router, back in zip(routers, at, strict=True)
            ]
            assert changed_at - started_at < 1.0, "the machine is too busy for this test"
            assert all(KEY in each.process.context.backends.unhealthy for each in routers)
        assert (await deployment.state()).state is BackendHealth.DEGRADED
    say(
        f"{ROUNDS} restarts, {REPLICAS} routers: a state changed within 1 s is known at most {max(took):.2f} s after "
        f"reconnecting, median {sorted(took)[len(took) // 2]:.2f} s"
    )
    assert max(took) < FOLLOWS_WITHIN_S
