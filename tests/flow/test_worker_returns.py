"""The only worker process of three pools is killed under load, twice: its return ends what its absence did."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from fanfuse_client.client import Client
from fanfuse_contracts import limits, streams
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import BackendHealth, Kind, Stage, Status
from fanfuse_testing.faults.fleet import Fleet, Size, fleet
from fanfuse_testing.flow import eventually
from fanfuse_testing.simulated import CORPUS, TENANT

pytestmark = pytest.mark.slow

RATE, BUDGET_MS = 20, 2_000
KILLS = 2
"""A second degradation within five minutes of the first recovery would be damped, if it counted."""
WORKER = f"{Stage.BACKEND_WORKERS.value}-1"
KEYS = {streams.backend_key(kind, "main") for kind in Kind}


@asynccontextmanager
async def under_load(client: Client, answers: list[tuple[float, Answer]]) -> AsyncIterator[None]:
    """Each query at its own moment, however long the others take; answers by the moment of asking."""

    async def ask(number: int) -> None:
        at = time.monotonic()
        text = f"What did Alice Smith say in report {number}?"
        answers.append((at, await client.ask(text, corpora=(CORPUS,), budget_ms=BUDGET_MS)))

    async def load() -> None:
        async with asyncio.TaskGroup() as group:
            began, number = time.monotonic(), 0
            while not over.is_set():
                group.create_task(ask(number))
                number += 1
                await asyncio.sleep(max(0.0, began + number / RATE - time.monotonic()))

    over = asyncio.Event()
    loading = asyncio.create_task(load())
    try:
        yield
    finally:
        over.set()
        await loading


async def states_are(running: Fleet, wanted: BackendHealth) -> bool:
    states = await running.processes.operator.backend_states()
    return {streams.backend_key(state.kind, state.backend) for state in states if state.state is wanted} == KEYS


def complete_since(answers: list[tuple[float, Answer]], moment: float) -> bool:
    return any(at > moment and answer.status is Status.COMPLETE for at, answer in answers)


async def test_the_return_of_the_only_worker_ends_what_its_absence_did(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    """HEA-01: all backends are degraded; whole answers come when the worker is back, the second time as well."""
    answers: list[tuple[float, Answer]] = []
    async with fleet(tmp_path) as running:
        await running.launch(Size(replicas=1))
        await running.register_simulated()
        async with running.processes.client(TENANT) as client, under_load(client, answers):
            for kill in range(1, KILLS + 1):
                await eventually(partial(complete_since, answers, time.monotonic()))
                killed = time.monotonic()
                running.processes.kill(WORKER)
                await eventually(partial(states_are, running, BackendHealth.DEGRADED), every_s=0.1)
                await running.processes.restart(WORKER)
                back = time.monotonic()
                await eventually(partial(complete_since, answers, back), 2 * limits.DEGRADED_FOR_S)
                took_s = time.monotonic() - back
                await eventually(partial(states_are, running, BackendHealth.HEALTHY), 2 * limits.DEGRADED_FOR_S, 0.1)
                seen = Counter(answer.status.value for at, answer in answers if killed <= at < back + took_s)
                say(
                    f"kill {kill}: ready after {back - killed:.1f} s, a whole answer {took_s:.1f} s later; "
                    f"until then {dict(seen)}"
                )
                assert took_s < limits.DEGRADED_FOR_S / 2
