"""Fanfuse alone with one of three engines in trouble: who is answered, in time, and told what is missing.

In: options of the command line. Out: a Markdown report; not kept where a promise is broken. The engines, documents and
questions are those of `compare`; an answered query is one with hits.
"""

import argparse
from collections.abc import Sequence
from typing import Final

from fanfuse_bench import pulse, runs
from fanfuse_bench.compare_engines import Trouble
from fanfuse_bench.compare_ground import fanfuse_on, meets, prepared
from fanfuse_bench.compare_outcome import Outcome
from fanfuse_bench.compare_report import trouble_table
from fanfuse_bench.faults import Report
from fanfuse_bench.figures import quantile

LEAST_ANSWERED: Final = 0.999
TROUBLES: Final = (Trouble.DEAD, Trouble.SLOW, Trouble.REFUSING)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `trouble`."""
    parser.add_argument("--trouble", choices=[*(one.value for one in TROUBLES), "all"], default="all")
    parser.add_argument("--queries", type=int, default=1_000, help="asked in each trouble (1,000)")
    parser.add_argument("--rate", type=float, default=8.0, help="queries per second (8)")
    parser.add_argument("--away-ms", type=float, default=150.0, help="how far away the engines are (150)")
    parser.add_argument("--budget-ms", type=int, default=1_000, help="budget of a query (1,000)")


async def measure(options: argparse.Namespace) -> Report:
    """Each trouble on a flow that has heard of no other."""
    load = {"queries": options.queries, "pace": {"rate": options.rate}}
    chosen = TROUBLES if options.trouble == "all" else (Trouble(options.trouble),)
    async with prepared() as ground, pulse.beside() as idle:
        found, beside = [], []
        for trouble in chosen:
            runs.say(f"one of three engines {trouble.value}: {options.queries} queries, {options.rate:g} per s")
            async with fanfuse_on(ground, options.away_ms / 1e3, options.budget_ms) as fanfuse:
                await idle.told()
                found.append((trouble, await meets(fanfuse, trouble, load)))
                beside.append(f"- {trouble.value}: {await idle.told()}")
    return report(found, options.budget_ms, beside)


def report(found: Sequence[tuple[Trouble, Outcome]], budget_ms: int, beside: Sequence[str] = ()) -> Report:
    """The table, what the machine did meanwhile, then each promise that was broken."""
    outcomes = [outcome for _, outcome in found]
    names = [f"{outcome.name}, one engine {trouble.value}" for trouble, outcome in found]
    wrong = [f"- **broken**: {trouble.value}: {line}" for trouble, one in found for line in broken(one, budget_ms)]
    return Report("\n\n".join((trouble_table(outcomes, budget_ms, names), *beside, *wrong)), not wrong)


def broken(one: Outcome, budget_ms: int) -> list[str]:
    """What an outcome breaks: its share of answers, their p95, a missing list that no answer tells."""
    answered = len(one.latencies_ms)
    unnamed = answered - (one.whole or 0) - (one.named or 0)
    p95_ms = quantile(one.latencies_ms, 0.95)
    lines = []
    if answered < LEAST_ANSWERED * one.queries:
        lines.append(f"{answered} of {one.queries} answered, under {LEAST_ANSWERED:.1%}")
    if not p95_ms <= budget_ms:
        lines.append(f"p95 {p95_ms:.0f} ms, over the budget of {budget_ms} ms")
    if unnamed:
        lines.append(f"{unnamed} answers lack a list and do not say so")
    return lines
