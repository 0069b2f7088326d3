"""How late this machine wakes a process that does nothing: what a measured one could not help either.

Run by the benchmark as `python -m fanfuse_bench.pulse`; its parent uses `beside`. In: nothing. Out: for each sleep, by
how many milliseconds it was too long.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from fanfuse_bench.children import Child, child
from fanfuse_bench.figures import quantile
from fanfuse_bench.metering import lines, tell

_EVERY_S: Final = 0.02
STALL_MS: Final = 200.0


class Pulse:
    """An idle process while others are measured."""

    def __init__(self, running: Child) -> None:
        self._child = running

    async def told(self) -> str:
        """In words, of the time since this was last asked."""
        return in_words((await self._child.ask("late"))["late_ms"])


@asynccontextmanager
async def beside() -> AsyncIterator[Pulse]:
    """The process."""
    async with child("pulse") as running:
        yield Pulse(running)


def in_words(late_ms: Sequence[float]) -> str:
    """How idle processes fared."""
    stalls = sum(late > STALL_MS for late in late_ms)
    p99, most = quantile(late_ms, 0.99), quantile(late_ms, 1.0)
    return (
        f"An idle process beside it that slept {_EVERY_S * 1e3:g} ms at a time was woken late by p99 {p99:.0f} ms, "
        f"at most {most:.0f} ms; {stalls} times by over {STALL_MS:g} ms."
    )


async def _sleep_forever(late_ms: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(_EVERY_S)
        late_ms.append((time.perf_counter() - began - _EVERY_S) * 1e3)


async def _serve() -> None:
    late_ms: list[float] = []
    sleeping = asyncio.create_task(_sleep_forever(late_ms))
    reader = await lines()
    while await reader.readline():
        tell({"late_ms": late_ms})
        late_ms.clear()
    sleeping.cancel()


if __name__ == "__main__":
    asyncio.run(_serve())
