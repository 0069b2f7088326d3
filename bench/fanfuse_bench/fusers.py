"""The same queries with one, two and four fusers: the same answers, all complete, and what a query costs.

In: options of the command line. Out: a Markdown report; not kept where an answer differs, is incomplete, or costs more
than is allowed. CPU time counts, so other work on the machine does not.
"""

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fanfuse_bench import faults
from fanfuse_bench.children import cpu_s
from fanfuse_bench.corpora import TENANT, Questions
from fanfuse_bench.faults import Report
from fanfuse_bench.figures import Spread, spread, table
from fanfuse_bench.runs import say
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage, Status
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing.faults.fleet import Fleet, Size

SIZES: Final = (1, 2, 4, 2, 1)
"""Up and down again, so that a drift of the machine meets every number alike."""
COST_ALLOWED: Final = 0.15
"""Of all processes together: what one fuser saves by taking several messages at a time, others may pay."""
_BUDGET_MS: Final = 30_000
_AT_REST_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Round:
    """One run with so many fusers. CPU in milliseconds per query; `at_rest` in milliseconds per second."""

    fusers: int
    answers: Mapping[int, str]
    """Number of the query to its answer's hits, scores and contributions, as JSON."""
    complete: int
    per_second: float
    after_ms: Spread
    fusers_cpu_ms: float
    all_cpu_ms: float
    at_rest_ms: float

    @property
    def fusers_at_work_ms(self) -> float:
        """What the fusers spend per query over what they spend without any."""
        return self.fusers_cpu_ms - self.at_rest_ms / self.per_second


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fusers`."""
    parser.add_argument("--queries", type=int, default=800, help="how many are asked in each round (800)")
    parser.add_argument("--rate", type=float, default=40.0, help="queries per second (40)")


async def measure(options: argparse.Namespace) -> Report:
    """Every round on one fleet."""
    async with faults.prepared("simulated", Size(1)) as (fleet, questions):
        rounds = []
        for number, fusers in enumerate(SIZES):
            await _scale(fleet, fusers)
            await _ask(fleet, questions, 100, f"warm{number}", options.rate)
            rounds.append(await _round(fleet, questions, options, number, fusers))
            say(f"{fusers} fusers: {rounds[-1].fusers_cpu_ms:.2f} ms of fusers' CPU per query")
    return report(rounds, options.queries)


async def _scale(fleet: Fleet, fusers: int) -> None:
    names = [f"{Stage.FUSER.value}-{number}" for number in range(1, max(SIZES) + 1)]
    for name in names[fusers:]:
        process = fleet.processes.started.get(name)
        if process is not None and process.running:
            await process.stop()
    await fleet.processes.scale(Stage.FUSER, fusers)


async def _round(fleet: Fleet, questions: Questions, options: argparse.Namespace, number: int, fusers: int) -> Round:
    at_rest = -_spent(fleet, Stage.FUSER.value)
    await asyncio.sleep(_AT_REST_S)
    at_rest += _spent(fleet, Stage.FUSER.value)
    before, all_before, began = _spent(fleet, Stage.FUSER.value), _spent(fleet), time.monotonic()
    answers = await _ask(fleet, questions, options.queries, f"r{number}", options.rate)
    seconds, per_query = time.monotonic() - began, 1e3 / options.queries
    return Round(
        fusers,
        {int(answer.query_id.rpartition("-")[2]): _content(answer) for answer in answers},
        sum(answer.status is Status.COMPLETE for answer in answers),
        len(answers) / seconds,
        spread([answer.elapsed_ms for answer in answers]),
        (_spent(fleet, Stage.FUSER.value) - before) * per_query,
        (_spent(fleet) - all_before) * per_query,
        at_rest / _AT_REST_S * 1e3,
    )


def _spent(fleet: Fleet, prefix: str = "") -> float:
    return sum(cpu_s(pid) for name, pid in fleet.pids.items() if name.startswith(prefix))


async def _ask(fleet: Fleet, questions: Questions, count: int, name: str, rate: float) -> list[Answer]:
    """At a steady rate: a busy fuser takes its messages several at a time, so at its limit a query costs less."""
    began = time.monotonic()
    async with fleet.processes.client(TENANT) as client:
        asked: list[asyncio.Task[Answer]] = []
        for number, (query_id, fields) in enumerate(questions.queries(count, name, budget_ms=_BUDGET_MS).items()):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            query = SubmittedQuery.model_validate(fields)
            asked.append(asyncio.create_task(client.ask(query, query_id=query_id)))
        return list(await asyncio.gather(*asked))


def _content(answer: Answer) -> str:
    return "\n".join(hit.model_dump_json() for hit in answer.hits)


def report(rounds: Sequence[Round], queries: int) -> Report:
    """The rounds by number of fusers: the cheaper one of each number counts."""
    first = rounds[0].answers
    base = min((one for one in rounds if one.fusers == 1), key=lambda one: one.all_cpu_ms)
    rows, broken = [], []
    for fusers in sorted({one.fusers for one in rounds}):
        same = [one for one in rounds if one.fusers == fusers]
        cheapest = min(same, key=lambda one: one.all_cpu_ms)
        differing = max(sum(one.answers.get(key) != content for key, content in first.items()) for one in same)
        complete = min(one.complete for one in same)
        change = cheapest.all_cpu_ms / base.all_cpu_ms - 1
        at_work = cheapest.fusers_at_work_ms / base.fusers_at_work_ms - 1
        rows.append(
            (
                fusers, f"{complete} of {queries}", differing, cheapest.all_cpu_ms, f"{change:+.0%}",
                cheapest.fusers_cpu_ms, cheapest.at_rest_ms, f"{cheapest.fusers_at_work_ms:.2f} ({at_work:+.0%})",
                f"{cheapest.per_second:.0f}", cheapest.after_ms,
            )
        )  # fmt: skip
        broken += [f"{fusers} fusers: {differing} answers differ"] if differing else []
        broken += [f"{fusers} fusers: {queries - complete} incomplete"] if complete < queries else []
        broken += [f"{fusers} fusers: CPU {change:+.0%}"] if change > COST_ALLOWED else []
    header = (
        "fusers", "complete", "answers that differ", "all CPU ms/query", "against one", "of that the fusers",
        "fusers' CPU ms/s at rest", "fusers over that, ms/query", "queries/s", "elapsed p50/p95/p99 ms",
    )  # fmt: skip
    verdict = f"**broken**: {'; '.join(broken)}" if broken else "same answers, all complete, CPU within +15 %"
    return Report(f"{table(header, rows)}\n\n{verdict}", not broken)
