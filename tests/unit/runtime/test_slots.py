"""Slots bound what runs at once, wait for all of it, and outlive what fails."""

import asyncio

from fanfuse_runtime.slots import Slots


async def test_no_more_than_the_limit_run_at_once():
    slots = Slots(2)
    go = asyncio.Event()
    running: list[int] = []

    async def work(number: int) -> None:
        running.append(number)
        await go.wait()

    await slots.run(work(1))
    await slots.run(work(2))
    third = asyncio.create_task(slots.run(work(3)))
    await asyncio.sleep(0.01)
    assert running == [1, 2]
    assert not third.done()

    go.set()
    await third
    await slots.finished()
    assert running == [1, 2, 3]


async def test_finished_waits_for_what_runs():
    slots = Slots(4)
    ended: list[int] = []

    async def work(number: int) -> None:
        await asyncio.sleep(0.005 * number)
        ended.append(number)

    for number in (3, 1, 2):
        await slots.run(work(number))
    await slots.finished()

    assert ended == [1, 2, 3]


async def test_a_failure_frees_its_slot():
    slots = Slots(1)
    ended: list[str] = []

    async def fail() -> None:
        raise LookupError("no such thing")

    async def work() -> None:
        ended.append("after it")

    await slots.run(fail())
    await slots.run(work())
    await slots.finished()

    assert ended == ["after it"]


async def test_a_cancelled_caller_leaves_its_work_unstarted():
    slots = Slots(1)
    go = asyncio.Event()
    started: list[str] = []

    async def first() -> None:
        await go.wait()

    async def second() -> None:
        started.append("second")

    await slots.run(first())
    waiting = asyncio.create_task(slots.run(second()))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    go.set()
    await slots.finished()

    assert started == []
