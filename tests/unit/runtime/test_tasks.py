"""A task that swallows its first cancellation is ended all the same."""

import asyncio

from fanfuse_runtime.tasks import end_tasks


async def test_a_swallowed_cancellation_is_sent_again() -> None:
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                swallowed += 1
                if swallowed > 1:
                    raise

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await asyncio.wait_for(end_tasks((task,)), 30)
    assert task.cancelled()
    assert swallowed == 2
