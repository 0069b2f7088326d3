"""What a demonstration plays on: a bus, the services in two processes, an operator, a client per tenant.

In: a data directory and a bus. Out: a scene for the time of a block; nothing of it runs afterwards.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.split import VectorWorker, split_services
from fanfuse_cli.answers import render_answer
from fanfuse_cli.demo.checks import DemoFailed, check
from fanfuse_client import Client
from fanfuse_contracts import streams
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import BackendHealth, Kind

VECTOR_TIMEOUT_S: Final = 120.0
_POLL_S: Final = 0.2
_TELL_EVERY_S: Final = 5.0


@dataclass
class Scene:
    """Everything a step needs."""

    console: Console
    data_dir: Path
    url: str
    operator: Operator
    worker: VectorWorker
    clients: dict[str, Client] = field(default_factory=dict)
    steps: int = 0

    def step(self, title: str) -> None:
        """Announce the next step."""
        self.steps += 1
        self.console.print(f"\n[bold]{self.steps}. {title}[/]")

    async def ask(self, tenant: str, text: str, **fields: Any) -> Answer:
        """Ask, and show question and answer."""
        stated = "".join(f" {name}={value!r}" for name, value in fields.items())
        self.console.print(f"\n[cyan]{tenant}>[/] {text}[dim]{stated}[/]")
        answer = await self.clients[tenant].ask(text, **fields)
        self.console.print(render_answer(answer))
        return answer

    async def vector_is_back(self) -> None:
        """Wait until the vector workers live and health lets queries through again; tell what it waits for."""
        started = told = time.monotonic()
        while True:
            missing = await self._missing()
            if missing is None:
                return
            check(self.worker.ended is None, f"the vector worker did not start: {self.worker.ended}")
            now = time.monotonic()
            if now - started > VECTOR_TIMEOUT_S:
                raise DemoFailed(f"the vector backend did not come back within {VECTOR_TIMEOUT_S:.0f} s: {missing}")
            if now - told >= _TELL_EVERY_S:
                told = now
                self.console.print(f"  {now - started:3.0f} s: {missing}")
            await asyncio.sleep(_POLL_S)

    async def dead_letters(self) -> int:
        """Messages that no retry could help, since this data directory exists."""
        loads = await self.operator.stream_loads()
        return next(load.messages for load in loads if load.stream == streams.DEADLETTER.name)

    async def _missing(self) -> str | None:
        beats = await self.operator.alive()
        if not any(beat.ready and any(pool.kind is Kind.VECTOR for pool in beat.pools) for beat in beats):
            return "no vector worker is alive"
        for state in await self.operator.backend_states():
            if state.state is not BackendHealth.HEALTHY:
                return f"{state.kind.value}/{state.backend} is {state.state.value}: {state.reason}"
        return None


@asynccontextmanager
async def scene_on(console: Console, data_dir: Path, url: str, tenants: tuple[str, ...]) -> AsyncIterator[Scene]:
    """A scene whose services are all alive."""
    async with AsyncExitStack() as stack:
        _, worker = await stack.enter_async_context(split_services(data_dir, url))
        operator = await stack.enter_async_context(operator_on(url))
        clients = {tenant: await stack.enter_async_context(Client(url, tenant)) for tenant in tenants}
        scene = Scene(console, data_dir, url, operator, worker, clients)
        await scene.vector_is_back()
        yield scene
