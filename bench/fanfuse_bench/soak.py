"""A long run without faults: what the processes hold after some minutes, and at its end.

In: options of the command line. Out: a Markdown report with the ledger, and whether anything grew.
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from fanfuse_bench import faults
from fanfuse_bench.faults import Report
from fanfuse_bench.figures import table
from fanfuse_bench.runs import say
from fanfuse_testing.faults import run
from fanfuse_testing.faults.fleet import Fleet, Size
from fanfuse_testing.faults.vitals import BROKER, Vitals, read_vitals

_EVERY_S: Final = 20.0
_SETTLED_AFTER_S: Final = 300.0
_AVERAGED_S: Final = 120.0
_TEXTS: Final = 1_000
GROWTH_ALLOWED: Final = 0.05
"""Of memory; counts may vary by as much, for queries are in flight while they are taken."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `soak`."""
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (30)")
    parser.add_argument("--rate", type=float, default=15.0, help="queries per second (15)")
    parser.add_argument("--replicas", type=int, default=2, help="processes of every role (2)")


async def measure(options: argparse.Namespace) -> Report:
    """One run, with a reading every 20 seconds."""
    seconds = options.minutes * 60
    async with faults.prepared("simulated", Size(options.replicas)) as (fleet, questions):
        # The same texts again and again: caches are full soon, and what still grows is no cache.
        texts = tuple(questions.texts[0].replace("#", str(number)) for number in range(_TEXTS))
        load = faults.load_of(replace(questions, texts=texts), int(seconds * options.rate), options.rate)
        say(f"{len(load.queries)} queries at {options.rate:g}/s, {len(fleet.pids)} processes")
        readings: list[Vitals] = []
        reading = asyncio.create_task(_read_forever(fleet, readings))
        try:
            result = await run.run(fleet, load, (), say)
        finally:
            reading.cancel()
        if reading.done() and not reading.cancelled():
            reading.result()
    ledger = faults.report(result, "none", 0.0)
    grown, text = growth_report(readings, min(_SETTLED_AFTER_S, seconds / 6))
    return Report(f"{text}\n\n{ledger.text}", ledger.kept and not grown)


async def _read_forever(fleet: Fleet, readings: list[Vitals]) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(_EVERY_S)
        now = await read_vitals(fleet, time.monotonic() - began)
        readings.append(now)
        services = sum(mb for name, mb in now.rss_mb.items() if name != BROKER)
        say(
            f"{now.at_s:.0f} s: services {services:.0f} MB, broker {now.rss_mb[BROKER]:.0f} MB, "
            f"{sum(now.tasks.values())} tasks, {now.subscriptions} subscriptions, {now.consumers} consumers"
        )


def growth_report(readings: Sequence[Vitals], settled_after_s: float) -> tuple[list[str], str]:
    """What grew by more than is allowed, and the table: medians of two minutes, after `settled_after_s` and at the
    end. The broker's memory is told and not judged: it holds every answer for a day."""
    early = [one for one in readings if settled_after_s <= one.at_s < settled_after_s + _AVERAGED_S]
    late = [one for one in readings if one.at_s > readings[-1].at_s - _AVERAGED_S]

    def row(what: str, value: Callable[[Vitals], float]) -> tuple[str, float, float]:
        return what, float(median(map(value, early))), float(median(map(value, late)))

    rows = [row(f"{name}: MB", _memory_of(name)) for name in readings[-1].rss_mb]
    rows += [row(f"{name}: tasks", _tasks_of(name)) for name in readings[-1].tasks]
    rows += [row("subscriptions", lambda one: one.subscriptions), row("consumers", lambda one: one.consumers)]
    grown = [name for name, before, after in rows if after > before * (1 + GROWTH_ALLOWED) and BROKER not in name]
    header = ("what", f"after {settled_after_s / 60:g} min", f"after {readings[-1].at_s / 60:.0f} min", "change")
    shown = [(name, before, after, f"{after / before - 1:+.1%}") for name, before, after in rows]
    verdict = f"**grew**: {', '.join(grown)}" if grown else "nothing grew by more than 5 %"
    return grown, f"{table(header, shown)}\n\n{verdict}"


def _memory_of(name: str) -> Callable[[Vitals], float]:
    return lambda one: one.rss_mb[name]


def _tasks_of(name: str) -> Callable[[Vitals], float]:
    return lambda one: one.tasks[name]
