"""Ends tasks for certain. In: tasks. Out: when the call returns, none of them runs."""

import asyncio
from collections.abc import Iterable

_AGAIN_AFTER_S = 0.5


async def end_tasks(tasks: Iterable["asyncio.Task[None]"]) -> None:
    """Cancel and wait; what they raised is dropped.

    One `cancel` is not enough: Python 3.11's `asyncio.wait_for` swallows it when its result arrives at that moment
    (python/cpython#86296), and a loop that goes on would be waited for without end.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        done, pending = await asyncio.wait(pending, timeout=_AGAIN_AFTER_S)
        await asyncio.gather(*done, return_exceptions=True)
