"""How many searches of one corpus may be at an engine at a time, so that a slow corpus can't fill a shared pool.

A search over the limit fails `overloaded`: at once where no search of its corpus has begun or ended for a moment, else
as soon as that is so. A burst on an engine that keeps up thus passes (16 commands that arrive together are served in
milliseconds), and a slow corpus holds the pool's other slots for a moment at most.
"""

import asyncio
from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

STALLED_AFTER_S: Final = 0.25
MAX_WAIT_S: Final = 0.5


@dataclass(slots=True)
class _Gate:
    """Each `with` is a turn that was taken before; its end gives it back."""

    turns: asyncio.Semaphore
    moved_at: float
    waiting: dict[asyncio.Timeout, float] = field(default_factory=dict)
    """Each waiting search's timeout, and the latest moment it may be put off to."""

    def move(self, now: float) -> None:
        self.moved_at = now
        for timeout, latest in self.waiting.items():
            if not timeout.expired():
                timeout.reschedule(min(latest, now + STALLED_AFTER_S))

    async def enter(self, now: float) -> None:
        latest = now + MAX_WAIT_S
        async with asyncio.timeout_at(min(latest, self.moved_at + STALLED_AFTER_S)) as timeout:
            self.waiting[timeout] = latest
            try:
                await self.turns.acquire()
            finally:
                del self.waiting[timeout]

    def __enter__(self) -> None:
        self.move(asyncio.get_running_loop().time())

    def __exit__(self, *_raised: object) -> None:
        self.turns.release()
        self.move(asyncio.get_running_loop().time())


class Admission:
    """One gate per corpus and backend; its memory is bounded by the corpora this worker held open."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._gates: dict[Hashable, _Gate] = {}

    async def admitted(self, key: Hashable) -> AbstractContextManager[None]:
        """A turn for the block, which begins at once; raises OVERLOADED where there is none in time."""
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = _Gate(asyncio.Semaphore(self._limit), asyncio.get_running_loop().time())
        if gate.turns.locked():
            await self._wait(gate, asyncio.get_running_loop().time())
        else:
            await gate.turns.acquire()
        return gate

    async def _wait(self, gate: _Gate, now: float) -> None:
        try:
            await gate.enter(now)
        except TimeoutError as error:
            message = f"{self._limit} searches of this corpus are running in this worker: try again"
            raise SearchError(FailureKind.OVERLOADED, message) from error
