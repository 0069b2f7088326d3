"""Calls at a pace: so many at once, or so many started per second. In: calls. Out: when all are done."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

Call = Callable[[], Coroutine[Any, Any, None]]


async def paced(calls: Iterable[Call], pace: Mapping[str, float]) -> None:
    """`pace` is {"at_once": n} or {"rate": per second}."""
    if "rate" in pace:
        await _per_second(calls, pace["rate"])
    else:
        await _at_once(calls, int(pace["at_once"]))


async def _at_once(calls: Iterable[Call], number: int) -> None:
    waiting = iter(calls)

    async def work() -> None:
        for call in waiting:
            await call()

    await asyncio.gather(*(work() for _ in range(number)))


async def _per_second(calls: Iterable[Call], rate: float) -> None:
    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number, call in enumerate(calls):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            tasks.create_task(call())
