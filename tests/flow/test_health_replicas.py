"""Routers as processes of their own hear of a state at the same time, also right after the broker restarted."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fanfuse_all_in_one.marking import clear_backend, mark_backend
from fanfuse_contracts import flow, subjects
from fanfuse_contracts.enums import FailureKind, Kind, Stage
from fanfuse_contracts.health import BackendOutcome, BackendState
from fanfuse_health.ports import BackendKey
from fanfuse_testing.faults.fleet import Fleet, fleet
from fanfuse_testing.flow import eventually
from tests.flow import telling_router
from tests.flow.telling_router import CONNECTED, KNOWS, told

pytestmark = pytest.mark.nightly

KEY = BackendKey(Kind.VECTOR, "main")
ROUTERS = tuple(f"router-{number}" for number in range(1, 4))
CHANGES, RESTARTS = 20, 5
AGREE_WITHIN_S, FOLLOW_WITHIN_S = 0.2, 2.0


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Three routers and two health services, each a process, and one wired backend."""
    async with fleet(tmp_path) as found:
        await found.register_simulated()
        for name in ROUTERS:
            found.processes.launch(Stage.CORPUS_ROUTER, name, module=telling_router.__name__)
        for number in (1, 2):
            found.processes.launch(Stage.HEALTH, f"health-{number}")
        await found.processes.ready()
        yield found


def knew_at(running: Fleet, version: int) -> list[float]:
    """When each router that knows of a version knew of it."""
    found = []
    for name in ROUTERS:
        lines = told(running.processes.started[name].log)
        found += [line.at_s for line in lines if (line.what, line.number) == (KNOWS, version)][:1]
    return found


async def known_by_all(running: Fleet, version: int) -> list[float]:
    await eventually(lambda: len(knew_at(running, version)) == len(ROUTERS), 60)
    return knew_at(running, version)


async def change(running: Fleet, number: int) -> BackendState:
    operator = running.processes.operator
    if number % 2:
        return await clear_backend(operator, KEY, by="test", reason=f"change {number}")
    return await mark_backend(operator, KEY, by="test", reason=f"change {number}", for_s=None)


async def test_routers_in_processes_of_their_own_agree(running: Fleet, say: Callable[[str], None]) -> None:
    spreads = []
    for number in range(CHANGES):
        at_s = await known_by_all(running, (await change(running, number)).version)
        spreads.append(max(at_s) - min(at_s))
    # One that health decides from outcomes; those of the quarter of a second of a change do not count.
    await asyncio.sleep(1.0)
    bus, began_s = running.processes.operator.bus, time.monotonic()
    failure = BackendOutcome(kind=KEY.kind, backend=KEY.backend, ok=False, failure=FailureKind.UNAVAILABLE)
    for number in range(3):
        await bus.publish(flow.OUTCOME, subjects.backend_outcome(KEY.kind, KEY.backend), failure, f"outcome-{number}")
    at_s = await known_by_all(running, CHANGES + 1)
    spreads.append(max(at_s) - min(at_s))
    say(
        f"{len(ROUTERS)} router processes, {len(spreads)} states: all know within {max(spreads) * 1e3:.0f} ms of the "
        f"first (median {sorted(spreads)[len(spreads) // 2] * 1e3:.1f} ms); {max(at_s) - began_s:.2f} s after the "
        "first of three failures"
    )
    assert sorted(spreads)[-2] < AGREE_WITHIN_S, "a machine may stall once"


async def test_routers_in_processes_of_their_own_follow_after_a_restart(
    running: Fleet, say: Callable[[str], None]
) -> None:
    """NAT-12: the state changes within a second of the broker's start."""
    took, delays = [], []
    for number in range(RESTARTS):
        running.server.kill()
        await asyncio.sleep(1.0)
        await asyncio.to_thread(running.server.start)
        started_s = time.monotonic()
        await eventually(lambda: running.processes.operator.bus.nc.is_connected, 30)
        state = await change(running, number)
        changed_s = time.monotonic()
        delays.append(changed_s - started_s)
        at_s = await known_by_all(running, state.version)
        for name, knew_s in zip(ROUTERS, at_s, strict=True):
            lines = told(running.processes.started[name].log)
            back_s = max(line.at_s for line in lines if line.what == CONNECTED)
            took.append(max(0.0, knew_s - max(back_s, changed_s)))
    say(
        f"{RESTARTS} restarts, {len(ROUTERS)} router processes: a state changed within {max(delays):.2f} s is known at "
        f"most {max(took):.2f} s after reconnecting, median {sorted(took)[len(took) // 2]:.2f} s"
    )
    assert max(took) < FOLLOW_WITHIN_S
