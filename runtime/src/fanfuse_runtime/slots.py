"""At most so many pieces of work at a time, each in a task of its own.

In: coroutines. A caller waits for a free slot, never for the work. What a piece raises is logged and stops nothing.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from fanfuse_runtime.logs import get_logger

_log = get_logger("slots")


class Slots:
    """Bounded concurrency of one subscriber."""

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(limit)
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a piece of work as soon as a slot is free."""
        try:
            await self._free.acquire()
        except asyncio.CancelledError:
            work.close()
            raise
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._free.release()
        if not task.cancelled() and task.exception() is not None:
            _log.error("slots.work_failed", exc_info=task.exception())

    async def finished(self) -> None:
        """Wait until nothing runs."""
        while self._running:
            await asyncio.wait(tuple(self._running))
