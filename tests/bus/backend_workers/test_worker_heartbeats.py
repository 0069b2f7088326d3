"""What a worker's heartbeats say of its pools at once: what is cold, and that a command has grown old in its hands."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_contracts.enums import Kind, LaneOutcome
from fanfuse_contracts.health import ColdLane
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.pools import PoolLook, PoolsView

WARM = PoolLook()
COLD = ColdLane(tenant="acme", corpus="docs", backend="main")


@pytest.fixture
async def pools(caller) -> AsyncIterator[PoolsView]:
    """What a router hears."""
    view = PoolsView(Bus(caller.nc, BrokerClock(), "router"))
    await view.start()
    yield view
    await view.stop()


async def test_a_corpus_is_cold_until_its_engine_and_embedder_are_open(run_workers, caller, world, pools) -> None:
    async with run_workers(pools=(Pool(Kind.KEYWORD, "main"), Pool(Kind.VECTOR, "main"))):
        await caller.until(lambda: pools.alive, "alive")
        world.opening_s = 1.0
        await caller.put(caller.card())
        await caller.until(lambda: pools.look(Kind.VECTOR, "main").cold == {COLD}, "cold")
        await caller.until(lambda: pools.look(Kind.VECTOR, "main") == WARM, "warm")
        assert world.embedded, "the embedder is loaded too"
        # A new generation is opened beside the live one: never cold again.
        heard = []
        await caller.put(caller.card(generation="g2"))
        for _ in range(30):
            heard.append(pools.look(Kind.VECTOR, "main"))
            await asyncio.sleep(0.05)
        assert set(heard) == {WARM}
        assert (await caller.ask("q1")).generation == "g2"


async def test_what_cannot_be_opened_is_not_cold_but_fails(run_workers, caller, world, pools) -> None:
    world.missing.add("g1")
    async with run_workers():
        await caller.put(caller.card())
        await caller.until(lambda: pools.alive and pools.alive[0].registry_revision, "applied")
        assert pools.look(Kind.KEYWORD, "main") == WARM
        reply = await caller.ask("q1")
        assert reply.outcome is LaneOutcome.FAILED


async def test_a_pool_is_under_pressure_while_a_command_has_used_half_of_its_budget(
    run_workers, caller, world, pools
) -> None:
    from fanfuse_backend_workers.ports import EngineResult

    let_go = asyncio.Event()

    async def slow(_engine, _request) -> EngineResult:
        await let_go.wait()
        return EngineResult(())

    async with run_workers():
        await caller.put(caller.card())
        await caller.until(lambda: world.opened and pools.alive, "open")
        world.behaviour = slow
        await caller.send(caller.command("q1", budget_ms=2_000))
        await caller.until(lambda: world.running == 1, "in hand")
        assert not pools.look(Kind.KEYWORD, "main").under_pressure
        await caller.until(lambda: pools.look(Kind.KEYWORD, "main").under_pressure, "told")
        (beat,) = pools.alive
        assert 0.5 < beat.pools[0].oldest_share < 1.0, "told at once, long before the budget is over"
        let_go.set()
        await caller.until(lambda: not pools.look(Kind.KEYWORD, "main").under_pressure, "told that it is over")
