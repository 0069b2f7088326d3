"""Which engine servers of this worker can't be used: looked at when it starts, and again until they can.

In: servers. Out: their keys, and a log line when one can't be used and when it can. A worker starts all the same, for
one engine must not take the others out of service. What fails later is not looked at here: its lanes tell health.
"""

import asyncio
from collections.abc import Collection
from typing import Final

from fanfuse_backend_workers.connections import BackendKey, Server, unhealthy
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.tasks import end_tasks

WITHIN_S: Final = 2.0
AGAIN_AFTER_S: Final = 5.0

_log = get_logger("backend-workers.engines")


class EngineWatch:
    """Of one process. Once every server could be used it asks none any more."""

    def __init__(self, servers: Collection[Server], again_after_s: float = AGAIN_AFTER_S) -> None:
        self._servers = servers
        self._again_after_s = again_after_s
        self._problems: dict[BackendKey, str] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def unusable(self) -> frozenset[BackendKey]:
        """Such as for a wrong address or password."""
        return frozenset(self._problems)

    async def start(self) -> None:
        """Look at all, and follow those that can't be used."""
        await self._look(self._servers)
        if self._problems:
            self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            await end_tasks((self._task,))

    async def _follow(self) -> None:
        while self._problems:
            await asyncio.sleep(self._again_after_s)
            await self._look([server for server in self._servers if server.key in self._problems])

    async def _look(self, servers: Collection[Server]) -> None:
        found = await asyncio.gather(*(unhealthy(server, WITHIN_S) for server in servers))
        for server, problem in zip(servers, found, strict=True):
            self._note(server, problem)

    def _note(self, server: Server, problem: str | None) -> None:
        told = self._problems.pop(server.key, None)
        if problem is not None:
            self._problems[server.key] = problem
        if problem == told:
            return
        facts = {"backend": str(server.key), "engine": server.config.engine.value}
        if problem is None:
            _log.info("server.usable", **facts)
        else:
            _log.warning("server.not_usable", **facts, error=problem)
