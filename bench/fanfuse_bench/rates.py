"""Latency at steady rates: the whole flow, and beside it the raw chain of plain nats-py, driven alike.

In: options of the command line. Out: a Markdown table, and with `--picture` the same as an SVG. At each rate the two
take turns; neither runs while the other is asked.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fanfuse_bench import pulse, runs
from fanfuse_bench.corpora import TENANT, simulated_questions
from fanfuse_bench.curves import Curve, draw
from fanfuse_bench.figures import counts, table
from fanfuse_bench.recording import record
from fanfuse_contracts.query import SubmittedQuery


class AtRate(NamedTuple):
    """What both came to at so many queries per second."""

    rate: float
    flow: runs.Run
    floor: runs.Run


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `rate`."""
    parser.add_argument("--rates", type=float, nargs="+", default=[20.0], help="queries per second, each in turn (20)")
    parser.add_argument("--queries", type=int, default=400, help="how many are measured at each rate (400)")
    parser.add_argument("--warm", type=int, default=100, help="how many are asked before (100)")
    parser.add_argument("--delay-ms", type=float, default=2.0, help="time a simulated search takes (2)")
    parser.add_argument("--no-text", action="store_true", help="ask for hits without their texts")
    parser.add_argument("--picture", type=Path, help="an SVG file: time after the slowest lane against the rate")


async def measure(options: argparse.Namespace) -> str:
    """The table."""
    fields, delay = {"include_text": not options.no_text}, str(options.delay_ms)
    async with runs.place() as high, runs.place() as low:
        questions = await simulated_questions(high.operator)
        async with runs.services("flow", high, delay) as flow:
            query = SubmittedQuery.model_validate(questions.queries(1, "recorded", **fields)["recorded-0"])
            (await record(high.server.url, TENANT, query)).write(low.folder / "recording.json")
            async with runs.floor(low, low.folder / "recording.json", delay) as floor, pulse.beside() as idle:
                found: list[AtRate] = []
                for rate in options.rates:
                    runs.say(f"{options.queries} queries of each at {rate:g} per s")
                    load = runs.Load(options.queries, 0 if found else options.warm, {"rate": rate}, fields)
                    found.append(AtRate(rate, await flow.run(questions, load), await floor.run(questions, load)))
                beside = await idle.told()
    if options.picture is not None:
        options.picture.write_text(picture(found), encoding="utf-8")
    return f"{report(found)}\n\n{beside}"


def report(found: Sequence[AtRate]) -> str:
    """Two rows per rate. What is stored when the floor's query is, nobody knows: its answer is a recorded one."""
    header = (
        "queries/s", "", "answers", "after slowest lane p50/p95/p99 ms", "stored to answer ms", "caller ms",
        "CPU ms/query", "nats-server",
    )  # fmt: skip
    rows = [
        (
            f"{at.rate:g}", run.name, counts(run.statuses), run.after_lane_ms, run.broker_ms if run is at.flow else "–",
            run.caller_ms, run.cpu_ms, run.server_ms,
        )
        for at in found
        for run in (at.flow, at.floor)
    ]  # fmt: skip
    return table(header, rows)


def picture(found: Sequence[AtRate]) -> str:
    """How long after its slowest lane an answer is stored, against the rate."""
    curves = [
        Curve(f"{name} {which}", [(at.rate, getattr(getattr(at, name).after_lane_ms, which)) for at in found], number)
        for number, name in enumerate(("flow", "floor"))
        for which in ("p50", "p95", "p99")
    ]
    title = "ms from the storing of the last lane's reply to that of the answer"
    return draw(curves, title, "queries per second", log=True)
