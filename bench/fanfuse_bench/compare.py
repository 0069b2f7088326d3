"""Fanfuse beside its peers, in one run: the same three embedded engines, documents and questions, asynchronously.

In: options of the command line. Out: a Markdown report. Each contender is a process of its own, and they take turns, so
that other work on the machine meets all of them alike. Needs the evaluation data (musique-200); installs the peers.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fanfuse_bench import compare_report, runs
from fanfuse_bench.children import measured
from fanfuse_bench.compare_engines import Trouble
from fanfuse_bench.compare_ground import CALM_BUDGET_MS, CORPUS, WARM, Ground, fanfuse_on, meets, prepared
from fanfuse_bench.compare_outcome import Outcome
from fanfuse_bench.compare_subjects import FanfuseSubject, FloorSubject, PeerSubject, Subject
from fanfuse_bench.corpora import TENANT, Questions, simulated_questions
from fanfuse_bench.peer_environment import peers_python
from fanfuse_bench.recording import record

PEERS: Final = (
    "engines called directly",
    "LangChain EnsembleRetriever",
    "Haystack DocumentJoiner",
    "LlamaIndex QueryFusionRetriever",
)
GUARDED: Final = "LangChain, each retriever with a fallback"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `compare`."""
    parser.add_argument("--rounds", type=int, default=8, help="how often everybody takes a turn (8)")
    parser.add_argument("--queries", type=int, default=100, help="queries of one turn (100)")
    parser.add_argument("--concurrency", type=int, default=8, help="queries in flight (8)")
    parser.add_argument("--rate", type=float, default=10.0, help="queries per second with an engine in trouble (10)")
    parser.add_argument("--troubled", type=int, default=200, help="queries asked of each in each trouble (200)")
    parser.add_argument("--away-ms", type=float, default=150.0, help="how far away the engines are then (150)")
    parser.add_argument("--budget-ms", type=int, default=1_000, help="Fanfuse's budget then (1,000)")
    parser.add_argument("--environment", type=Path, help="folder of the peers' environment (one among temporary files)")


@dataclass(frozen=True, slots=True)
class Contest:
    """What everybody is given, and the interpreter that has the peers."""

    ground: Ground
    python: Path


async def measure(options: argparse.Namespace) -> str:
    """Healthy rounds first, then each trouble."""
    python = await asyncio.to_thread(peers_python, options.environment)
    async with prepared() as ground:
        contest = Contest(ground, python)
        return compare_report.report(await _healthy(contest, options), await _in_trouble(contest, options), options)


async def _healthy(contest: Contest, options: argparse.Namespace) -> list[list[Outcome]]:
    """Outcomes by round, in the order of the contenders."""
    load = {"queries": options.queries, "pace": {"at_once": options.concurrency}}
    async with AsyncExitStack() as stack:
        subjects: list[Subject] = [await stack.enter_async_context(_peer(contest, name, 0.0)) for name in PEERS]
        fanfuse = await stack.enter_async_context(fanfuse_on(contest.ground, 0.0, CALM_BUDGET_MS))
        subjects += [fanfuse, await stack.enter_async_context(_floor(fanfuse, contest.ground))]
        for subject in subjects:
            await subject.load(WARM)
        found = []
        for number in range(options.rounds):
            runs.say(f"round {number + 1} of {options.rounds}: {options.queries} queries of each")
            # Who begins changes, so that nobody always follows the same one.
            first = number % len(subjects)
            outcomes = {one.name: await one.load(load) for one in (*subjects[first:], *subjects[:first])}
            found.append([outcomes[subject.name] for subject in subjects])
        return found


async def _in_trouble(contest: Contest, options: argparse.Namespace) -> dict[Trouble, list[Outcome]]:
    """Outcomes by trouble. It begins when everybody is warm; Fanfuse's health has heard of no other."""
    load = {"queries": options.troubled, "pace": {"rate": options.rate}}
    away_s = options.away_ms / 1e3
    found: dict[Trouble, list[Outcome]] = {}
    async with AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(_peer(contest, name, away_s)) for name in (*PEERS, GUARDED)]
        for trouble in (Trouble.DEAD, Trouble.SLOW, Trouble.REFUSING):
            runs.say(
                f"one of three engines {trouble.value}: {options.troubled} queries of each, {options.rate:g} per s"
            )
            async with fanfuse_on(contest.ground, away_s, options.budget_ms) as fanfuse:
                contenders: list[Subject] = [*peers, fanfuse]
                found[trouble] = [await meets(one, trouble, load) for one in contenders]
    return found


@asynccontextmanager
async def _peer(contest: Contest, name: str, away_s: float) -> AsyncIterator[PeerSubject]:
    folder = contest.ground.data_dir.parent
    plan = folder / "peer-plan.json"
    plan.write_text(json.dumps(contest.ground.plan(away_s)))
    log = folder / "peer.log"
    async with measured("compare_child", name, str(plan), log=log, python=contest.python) as child:
        yield PeerSubject(name, child)


@asynccontextmanager
async def _floor(fanfuse: FanfuseSubject, ground: Ground) -> AsyncIterator[FloorSubject]:
    """The bytes of one of these queries, on a bus of its own."""
    async with runs.place() as where:
        await simulated_questions(where.operator)
        recording = await record(fanfuse.url, TENANT, ground.queries(CALM_BUDGET_MS)[0])
        path = where.folder / "recording.json"
        recording.write(path)
        async with runs.floor(where, path, "0") as subject:
            yield FloorSubject(subject, Questions(CORPUS, len(ground.asked.chunks), tuple(ground.asked.texts.values())))
