"""Bounded concurrency over a source. In: items and an asynchronous function. Out: results as they are done.

It never holds more than `concurrency` items, and reads the source only as fast as results are taken.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def run_bounded(items: AsyncIterator[T], work: Callable[[T], Awaitable[R]], concurrency: int) -> AsyncIterator[R]:
    """Each result as soon as it is done; the first exception ends the iteration and cancels what still runs."""
    running: set[asyncio.Task[R]] = set()
    reading: asyncio.Task[tuple[T, ...]] | None = asyncio.create_task(_next(items))
    try:
        while running or reading is not None:
            more = reading if reading is not None and len(running) < concurrency else None
            waiting_for = {*running, more} if more is not None else running
            done, _ = await asyncio.wait(waiting_for, return_when=asyncio.FIRST_COMPLETED)
            if more is not None and more in done:
                item = more.result()
                running |= {asyncio.create_task(_run(work, each)) for each in item}
                reading = asyncio.create_task(_next(items)) if item else None
            for task in running & done:
                running.discard(task)
                yield task.result()
    finally:
        left = [*running, *([reading] if reading is not None else [])]
        for unfinished in left:
            unfinished.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _next(items: AsyncIterator[T]) -> tuple[T, ...]:
    async for item in items:
        return (item,)
    return ()


async def _run(work: Callable[[T], Awaitable[R]], item: T) -> R:
    return await work(item)
