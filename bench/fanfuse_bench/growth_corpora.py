"""1 to 64 corpora registered: what a query over one of them costs, and one that names none.

In: how many queries per number of corpora. Out: a series. Each number has a bus and a process of its own, so that
memory is that of so many corpora. A query that names none is planned over all; a plan has at most 64 lanes.
"""

import argparse
from typing import Final

from fanfuse_bench import runs
from fanfuse_bench.corpora import simulated_questions
from fanfuse_bench.growth_asking import Ask, in_turn
from fanfuse_bench.growth_series import Series
from fanfuse_testing.simulated import CARD, CORPUS

CORPORA: Final = (1, 4, 16, 64)


async def measure(options: argparse.Namespace) -> Series:
    """A row per number of corpora."""
    return Series(
        "corpora",
        "corpus",
        (
            "one named: p50 ms",
            "one named: CPU ms/query",
            "none named: lanes",
            "none named: p50 ms",
            "none named: CPU ms/query",
            "peak MB",
        ),
        tuple([await _row(options, number) for number in CORPORA]),
        f"Simulated engines of {options.delay_ms:g} ms, three lanes per corpus, one query after the other, no texts.",
        drawn=(1, 4),
    )


async def _row(options: argparse.Namespace, number: int) -> tuple[float, ...]:
    async with runs.place() as where:
        questions = await simulated_questions(where.operator)
        for other in range(1, number):
            await where.operator.put_card(CARD.model_copy(update={"corpus": f"{CORPUS}-{other}"}), over=0)
        async with runs.services("flow", where, str(options.delay_ms)) as flow:
            runs.say(f"{number} corpora: {options.rounds} times {options.queries} queries of each kind")
            one, all_ = await in_turn(options, [Ask(flow, questions, {"corpora": [CORPUS]}), Ask(flow, questions, {})])
            return number, one.p50_ms, one.cpu_ms, all_.lanes, all_.p50_ms, all_.cpu_ms, flow.peak_mb()
