"""A full work queue and a full disk under load: callers are refused by type, and nothing accepted is lost.

In: options of the command line. Out: a Markdown report with a ledger for each. The full disk is a real one: a tmpfs
(Linux, root).
"""

import argparse
from dataclasses import replace
from typing import Final

from fanfuse_bench import faults
from fanfuse_bench.faults import Report
from fanfuse_bench.runs import say
from fanfuse_contracts import streams
from fanfuse_testing.faults import run
from fanfuse_testing.faults.disk import MountRefusedError
from fanfuse_testing.faults.fleet import Fleet, Size
from fanfuse_testing.faults.schedule import Fault, FaultKind

_DISK_MB: Final = 64
_SMALL_QUEUE: Final = 20
_FULL_AT_S: Final = 5.0
_FULL_FOR_S: Final = 15.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `disk`."""
    parser.add_argument("--queries", type=int, default=800, help="how many are asked in each of the two runs (800)")
    parser.add_argument("--rate", type=float, default=20.0, help="queries per second on the full disk (20)")
    parser.add_argument("--burst", type=float, default=400.0, help="queries per second on the full queue (400)")


async def measure(options: argparse.Namespace) -> Report:
    """The full queue, then the full disk."""
    parts = [("A full work queue", await _full_queue(options)), ("A full disk", await _full_disk(options))]
    text = "\n\n".join(f"### {title}\n\n{part.text}" for title, part in parts)
    return Report(text, all(part.kept for _, part in parts))


async def _full_queue(options: argparse.Namespace) -> Report:
    async with faults.prepared("simulated", Size(2)) as (fleet, questions):
        await _limit_queue(fleet)
        load = faults.load_of(questions, options.queries, options.burst)
        say(f"{options.queries} queries at {options.burst:g}/s, {streams.QUERIES.name} holds {_SMALL_QUEUE} messages")
        result = await run.run(fleet, load, (), say)
    return _refused(result)


async def _limit_queue(fleet: Fleet) -> None:
    js = fleet.processes.operator.bus.js
    config = (await js.stream_info(streams.QUERIES.name)).config
    await js.update_stream(config.evolve(max_msgs=_SMALL_QUEUE))


async def _full_disk(options: argparse.Namespace) -> Report:
    try:
        async with faults.prepared("simulated", Size(2), disk_mb=_DISK_MB) as (fleet, questions):
            load = faults.load_of(questions, options.queries, options.rate)
            load = replace(load, settled_within_s=run.SWEPT_WITHIN_S)
            say(f"{options.queries} queries at {options.rate:g}/s, the disk is full for {_FULL_FOR_S:g} s")
            result = await run.run(fleet, load, [Fault(_FULL_AT_S, FaultKind.DISK, "", _FULL_FOR_S)], say)
    except MountRefusedError as error:
        return Report(f"left out: {error}", kept=True)
    return _refused(result)


def _refused(result: run.Result) -> Report:
    """The ledger; not kept where nobody was refused, for then nothing was full."""
    ledger = faults.report(result, "none", 0.0)
    refused = result.refused.get("Overloaded", 0) + result.balance.reasons.get("overloaded", 0)
    return Report(f"{ledger.text}\n\n{refused} refused as overloaded", ledger.kept and refused > 0)
