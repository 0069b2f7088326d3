"""The bulkhead: a corpus has so many searches at an engine; more wait only while its searches keep ending."""

import asyncio
import time

import pytest

from fanfuse_backend_workers.admission import MAX_WAIT_S, STALLED_AFTER_S, Admission
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind


async def search(admission: Admission, key: str, seconds: float) -> FailureKind | None:
    try:
        with await admission.admitted(key):
            await asyncio.sleep(seconds)
    except SearchError as error:
        return error.kind
    return None


async def test_a_burst_on_an_engine_that_keeps_up_passes() -> None:
    admission = Admission(4)
    ended = await asyncio.gather(*(search(admission, "docs", 0.001) for _ in range(60)))
    assert ended == [None] * 60


async def test_over_the_limit_a_slow_corpus_is_refused_and_another_is_not() -> None:
    admission = Admission(2)
    running = [asyncio.create_task(search(admission, "slow", 1.0)) for _ in range(2)]
    await asyncio.sleep(0)
    began = time.monotonic()
    assert await search(admission, "slow", 0.0) is FailureKind.OVERLOADED
    assert time.monotonic() - began > STALLED_AFTER_S * 0.9
    refused = [asyncio.create_task(search(admission, "slow", 0.0)) for _ in range(50)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert all(task.done() for task in refused), "a stalled corpus is refused at once: nothing is waited for"
    assert {task.result() for task in refused} == {FailureKind.OVERLOADED}
    assert await search(admission, "fast", 0.0) is None
    assert await asyncio.gather(*running) == [None, None]
    assert await search(admission, "slow", 0.0) is None


async def test_nobody_waits_longer_than_the_bound_even_where_searches_keep_ending() -> None:
    admission = Admission(1)
    began = time.monotonic()
    ended = await asyncio.gather(*(search(admission, "docs", 0.06) for _ in range(12)))
    assert time.monotonic() - began < MAX_WAIT_S + 0.4
    assert None in ended
    assert FailureKind.OVERLOADED in ended
    assert await search(admission, "docs", 0.0) is None


async def test_a_search_that_is_cancelled_or_fails_gives_its_turn_back() -> None:
    admission = Admission(1)
    task = asyncio.create_task(search(admission, "docs", 60.0))
    waiting = asyncio.create_task(search(admission, "docs", 60.0))
    await asyncio.sleep(0.01)
    waiting.cancel()
    task.cancel()
    await asyncio.gather(task, waiting, return_exceptions=True)
    with pytest.raises(ZeroDivisionError), await admission.admitted("docs"):
        raise ZeroDivisionError
    assert await search(admission, "docs", 0.0) is None
