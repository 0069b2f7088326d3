"""Loops of one process look at the same moments, each once in its period."""

import asyncio

import pytest

from fanfuse_runtime.beats import next_beat

STARTS_S = [100.0, 100.013, 100.07, 123.4567]


async def woken_at_s(monkeypatch: pytest.MonkeyPatch, start_s: float, every_s: float) -> float:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: start_s)
    await next_beat(every_s)
    assert 0.0 < slept[0] <= every_s
    return start_s + slept[0]


@pytest.mark.parametrize("every_s", [0.1, 0.3, 2.0])
async def test_whenever_they_begin_to_wait_they_are_whole_periods_apart(
    monkeypatch: pytest.MonkeyPatch, every_s: float
) -> None:
    first, *others = [await woken_at_s(monkeypatch, start_s, every_s) for start_s in STARTS_S]
    periods = [(other - first) / every_s for other in others]
    assert periods == pytest.approx([round(one) for one in periods], abs=1e-6)


async def test_a_longer_period_ends_where_a_shorter_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = [await woken_at_s(monkeypatch, 100.05, every_s) for every_s in (0.1, 0.3)]
    assert (long - short) / 0.1 == pytest.approx(round((long - short) / 0.1), abs=1e-6)
