"""Measures Fanfuse on this machine and prints Markdown tables. `python bench/run.py --help` lists what it measures.

CPU per query and ratios within one run are what to compare: wall time depends on what else the machine does.
"""

import argparse
import asyncio
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from fanfuse_bench import (
    accounts,
    compare,
    disk,
    early,
    faults,
    fusers,
    fusion,
    fusion_report,
    growth,
    indexing,
    join,
    peer_quality,
    peers,
    quality_report,
    rates,
    reports,
    routing,
    runs,
    sizing,
    soak,
    trouble,
)
from fanfuse_bench.corpora import TENANT, Questions, real_questions, simulated_questions
from fanfuse_bench.recording import record

from fanfuse_contracts.query import SubmittedQuery


def _load(options: argparse.Namespace) -> runs.Load:
    pace = {"at_once": options.concurrency}
    return runs.Load(options.queries, options.warm, pace, {"include_text": not options.no_text})


async def flow(options: argparse.Namespace) -> list[runs.Run]:
    """The whole flow in one process."""
    done = []
    if options.engines in ("simulated", "both"):
        done.append(await _simulated(options))
    if options.engines in ("embedded", "both"):
        done.append(await _embedded(options))
    return done


async def _simulated(options: argparse.Namespace) -> runs.Run:
    runs.say(f"{options.queries} queries through the whole flow, engines of {options.delay_ms:g} ms")
    async with runs.place() as where:
        questions = await simulated_questions(where.operator)
        async with runs.services("simulated", where, str(options.delay_ms)) as subject:
            return await subject.run(questions, _load(options))


async def _embedded(options: argparse.Namespace) -> runs.Run:
    async with runs.place() as where:
        runs.say("indexing a real corpus")
        questions = await real_questions(where.operator, where.data_dir)
        runs.say(f"{options.queries} queries through the whole flow, {questions.corpus}: {questions.chunks} chunks")
        async with runs.services(questions.corpus, where, "embedded") as subject:
            return await subject.run(questions, _load(options))


async def floor(options: argparse.Namespace) -> list[list[runs.Run]]:
    """Rounds of the floor, bus and codec alone, the flow without texts and the whole flow, which take turns."""
    delay = str(options.delay_ms)
    async with runs.place() as low, runs.place() as middle, runs.place() as high:
        await simulated_questions(low.operator)
        await simulated_questions(middle.operator)
        questions = await simulated_questions(high.operator)
        async with (
            runs.services("bus and codec only", middle, delay, "recorded") as bus,
            runs.services("flow", high, delay) as flow_,
        ):
            first = questions.queries(1, "recorded", include_text=False)["recorded-0"]
            recording = await record(high.server.url, TENANT, SubmittedQuery.model_validate(first))
            recording.write(low.folder / "recording.json")
            runs.say(f"recorded: {recording.sizes()}")
            async with runs.floor(low, low.folder / "recording.json", delay) as floor_:
                subjects = (floor_, bus, flow_)
                return [await _round(options, number, questions, subjects) for number in range(options.rounds)]


async def _round(
    options: argparse.Namespace, number: int, questions: Questions, subjects: Sequence[runs.Subject]
) -> list[runs.Run]:
    floor_, bus, flow_ = subjects
    runs.say(f"round {number + 1} of {options.rounds}: {options.queries} queries each")
    warm = 0 if number else options.warm
    bare, whole = (
        runs.Load(options.queries, warm, {"at_once": options.concurrency}, {"include_text": texts})
        for texts in (False, True)
    )
    return [
        await floor_.run(questions, bare),
        await bus.run(questions, bare),
        replace(await flow_.run(questions, bare), name="flow without texts"),
        replace(await flow_.run(questions, whole), name="whole flow"),
    ]


def _add_common(parser: argparse.ArgumentParser, queries: int) -> None:
    parser.add_argument("--queries", type=int, default=queries, help=f"how many are measured ({queries})")
    parser.add_argument("--warm", type=int, default=100, help="how many are asked before (100)")
    parser.add_argument("--delay-ms", type=float, default=2.0, help="time a simulated search takes (2)")
    parser.add_argument("--no-text", action="store_true", help="ask for hits without their texts")
    parser.add_argument("--functions", type=int, default=0, help="also list the functions that cost most")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = parser.add_subparsers(
        dest="part",
        metavar="flow | floor | growth | rate | routing | fusion | quality | indexing | faults | fusers | soak | …",
    )
    flows = parts.add_parser("flow", help="latency, CPU per query and its shares, of the whole flow in one process")
    _add_common(flows, 2_000)
    flows.add_argument("--engines", choices=("simulated", "embedded", "both"), default="both")
    flows.add_argument("--concurrency", type=int, default=32, help="queries in flight (32)")
    floors = parts.add_parser("floor", help="the same messages on plain nats-py, and how far the flow is above that")
    _add_common(floors, 200)
    floors.add_argument("--rounds", type=int, default=10, help="how often the three take turns (10)")
    floors.add_argument("--concurrency", type=int, default=32, help="queries in flight (32)")
    rates.add_options(parts.add_parser("rate", help="latency at steady rates, beside plain nats-py"))
    decisions = parts.add_parser("routing", help="one decision of classifier and router, for 1, 10 and 100 corpora")
    decisions.add_argument("--decisions", type=int, default=2_000, help="how many are timed per line (2,000)")
    fusions = parts.add_parser("fusion", help="every fusion policy on judged queries (needs the evaluation data)")
    fusions.add_argument("--rounds", type=int, default=500, help="how many fusions are timed per line (500)")
    compare.add_options(parts.add_parser("compare", help="beside LangChain, Haystack, LlamaIndex (installs them)"))
    peer_quality.add_options(parts.add_parser("peer-quality", help="peers' fusion of lists that a flow fused"))
    peers.add_options(parts.add_parser("peers", help="one fusion beside ranx, LangChain and Haystack (installs them)"))
    growth.add_options(parts.add_parser("growth", help="1 to 32 lanes: what each more costs the flow and the floor"))
    early.add_options(parts.add_parser("early", help="a lane ten times slower than the rest, by its requirement"))
    indexing.add_options(parts.add_parser("indexing", help="building and searching the embedded engines, by size"))
    quality_report.add_options(parts.add_parser("quality", help="judged questions through the flow: lanes and answers"))
    join.add_options(parts.add_parser("join", help="replies missed by a joiner that listens elsewhere"))
    faults.add_options(parts.add_parser("faults", help="a ledger of every query while processes are killed"))
    disk.add_options(parts.add_parser("disk", help="a ledger of every query while the queue, then the disk is full"))
    fusers.add_options(parts.add_parser("fusers", help="the same queries with one, two and four fusers"))
    sizing.add_options(parts.add_parser("sizing", help="what a query costs each stage, and replicas by queries/s"))
    trouble.add_options(parts.add_parser("trouble", help="Fanfuse alone with one of three engines in trouble"))
    accounts.add_options(parts.add_parser("accounts", help="nats-server with an account per tenant, and with one"))
    soak.add_options(parts.add_parser("soak", help="memory, tasks, subscriptions and consumers over half an hour"))
    return parser


def _fusion(options: argparse.Namespace) -> str:
    sets = list(fusion.measure_all())
    times = [(one, fusion.cpu_us(one.config, options.rounds)) for one in fusion.variants()]
    tables = [
        part(sets)
        for part in (
            fusion_report.quality_table,
            fusion_report.difference_table,
            fusion_report.merged_table,
            fusion_report.fate_table,
        )
    ]
    return "\n\n".join([*tables, fusion_report.time_table(times)])


async def _measure(options: argparse.Namespace) -> faults.Report:
    match options.part:
        case "faults":
            return await faults.measure(options)
        case "disk":
            return await disk.measure(options)
        case "fusers":
            return await fusers.measure(options)
        case "sizing":
            return await sizing.measure(options)
        case "growth":
            return faults.Report(await growth.measure(options), kept=True)
        case "trouble":
            return await trouble.measure(options)
        case "soak":
            return await soak.measure(options)
        case "peer-quality":
            return faults.Report(peer_quality.measure(options), kept=True)
        case "compare":
            return faults.Report(await compare.measure(options), kept=True)
        case _:
            return faults.Report(await _figures(options), kept=True)


_TABLES: dict[str, Callable[[argparse.Namespace], Awaitable[str]]] = {
    "accounts": accounts.measure,
    "early": early.measure,
    "join": join.measure,
    "quality": quality_report.measure,
    "rate": rates.measure,
}
"""Parts that print figures and keep no ledger."""


async def _figures(options: argparse.Namespace) -> str:
    if options.part in _TABLES:
        return await _TABLES[options.part](options)
    match options.part:
        case "peers":
            return peers.measure(options)
        case "indexing":
            return indexing.measure(options)
        case "floor":
            return reports.floor_report(await floor(options), options.functions)
        case "routing":
            return routing.report(routing.measure_all(options.decisions))
        case "fusion":
            return _fusion(options)
        case _:
            return reports.flow_report(await flow(options), options.functions)


def main(arguments: Sequence[str]) -> int:
    """Measure one part; without arguments all that keep no ledger. Returns 1 if a promise was broken."""
    everything: tuple[Sequence[str], ...] = (["flow"], ["floor"], ["rate"], ["routing"])
    chosen = (arguments,) if arguments else everything
    sys.stdout.write(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    kept = True
    for part in chosen:
        options = _parser().parse_args(part or ["--help"])
        report = asyncio.run(_measure(options))
        sys.stdout.write(f"\n## {' '.join(part)}\n\n{report.text}\n")
        sys.stdout.flush()
        kept = kept and report.kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
