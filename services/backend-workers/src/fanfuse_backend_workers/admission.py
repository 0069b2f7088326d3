"""How many searches of one corpus may be at an engine at a time, so that a slow corpus can't fill a shared pool.

A search over the limit waits for one of its own corpus to end, but no longer than a moment; then its lane fails
`overloaded`. The moment lets a burst on a fast engine pass (the ninth of sixteen commands that arrive together is
served in milliseconds) and is short enough to keep the pool's other slots moving.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Final

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

WAIT_FOR_TURN_S: Final = 0.1


class Admission:
    """One gate per corpus and backend; its memory is bounded by the corpora this worker holds open."""

    def __init__(self, limit: int, wait_s: float = WAIT_FOR_TURN_S) -> None:
        self._limit = limit
        self._wait_s = wait_s
        self._gates: dict[Hashable, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def admitted(self, key: Hashable) -> AsyncIterator[None]:
        """A turn inside the block; raises OVERLOADED where there is none in time."""
        gate = self._gates.setdefault(key, asyncio.Semaphore(self._limit))
        try:
            async with asyncio.timeout(self._wait_s):
                await gate.acquire()
        except TimeoutError as error:
            message = f"{self._limit} searches of this corpus are running in this worker: try again"
            raise SearchError(FailureKind.OVERLOADED, message) from error
        try:
            yield
        finally:
            gate.release()
