"""A lane that is ten times slower than the rest: what the answer waits for, by the lane's requirement.

In: options of the command line. Out: a Markdown report. Four corpora in one flow that differ in the wiring of their
slow lane only, asked in turn, so that other work on the machine meets all of them alike.
"""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from fanfuse_bench import runs
from fanfuse_bench.figures import quantile, spread, table
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, LaneOutcome, Stage
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_contracts.quorum import Requirement
from fanfuse_testing.flow import Flow, running_flow
from fanfuse_testing.simulated import CARD, TENANT, Delay, simulated_workers

SLOW: Final = Kind.VECTOR
TIMES_SLOWER: Final = 10
ALLOWED: Final = 1.3
_BUDGET_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers of one corpus."""

    corpus: str
    answers: Sequence[Answer]

    @property
    def elapsed_ms(self) -> list[float]:
        """From the broker's storing of each query to its answer."""
        return [answer.elapsed_ms for answer in self.answers]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `early`."""
    parser.add_argument("--rounds", type=int, default=5, help="how many rounds (5)")
    parser.add_argument("--queries", type=int, default=80, help="how many are asked of each corpus in a round (80)")
    parser.add_argument("--rate", type=float, default=8.0, help="queries per second, all corpora together (8)")
    parser.add_argument("--delay-ms", default="5-50", help="time a search takes; the slow lane ten times that (5-50)")


def _card(corpus: str, slow: Wiring | None) -> CorpusCard:
    rest = tuple(wiring for wiring in CARD.backends if wiring.kind is not SLOW)
    return CARD.model_copy(update={"corpus": corpus, "backends": rest if slow is None else (*rest, slow)})


def cards() -> list[CorpusCard]:
    """The same corpus without the slow lane, then with it as each requirement."""
    slow = next(wiring for wiring in CARD.backends if wiring.kind is SLOW)
    with_it = [_card(one.value, slow.model_copy(update={"requirement": one})) for one in reversed(Requirement)]
    return [_card("without", None), *with_it]


async def measure(options: argparse.Namespace) -> str:
    """Ask every corpus in turn at a steady rate."""
    fast = Delay.parse_ms(options.delay_ms)
    slow = Delay(fast.low_s * TIMES_SLOWER, fast.high_s * TIMES_SLOWER)
    workers = {Stage.BACKEND_WORKERS: simulated_workers(fast, {SLOW: slow})}
    async with runs.place() as where, running_flow(where.server.url, where.data_dir, services=workers) as flow:
        for card in cards():
            await flow.operator.put_card(card, over=0)
        names = [card.corpus for card in cards()]
        await _ask(flow, names, 20, options.rate)
        runs.say(f"{options.rounds} times {options.queries} queries of each of {', '.join(names)}")
        return report([await _ask(flow, names, options.queries, options.rate) for _ in range(options.rounds)])


async def _ask(flow: Flow, corpora: Sequence[str], count: int, rate: float) -> list[Asked]:
    began = time.monotonic()
    asked: dict[str, list[asyncio.Task[Answer]]] = {corpus: [] for corpus in corpora}
    async with flow.client(TENANT) as client:
        for number in range(count * len(corpora)):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            corpus = corpora[number % len(corpora)]
            text = f"What did Alice Smith of Acme Corp say in report {number}?"
            query = SubmittedQuery(text=text, corpora=(corpus,), budget_ms=_BUDGET_MS)
            asked[corpus].append(asyncio.create_task(client.ask(query)))
        return [Asked(corpus, await asyncio.gather(*tasks)) for corpus, tasks in asked.items()]


def report(rounds: Sequence[Sequence[Asked]]) -> str:
    """Latency by corpus over all rounds, and its p95 as a multiple of the flow without the slow lane: median of the
    rounds, least and most."""
    lines, over = [], []
    for same in zip(*rounds, strict=True):
        whole = Asked(same[0].corpus, [answer for each in same for answer in each.answers])
        statuses = Counter(answer.status.value for answer in whole.answers)
        skipped = sum(answer.coverage.count(LaneOutcome.NOT_WAITED) for answer in whole.answers)
        times = [_p95(each) / _p95(asked[0]) for each, asked in zip(same, rounds, strict=True)]
        told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        if whole.corpus == Requirement.MAY.value and median(times) > ALLOWED:
            over.append(f"**p95 of `may` {median(times):.2f} times that without it, over {ALLOWED}**")
        ratio = f"{median(times):.2f} ({min(times):.2f} to {max(times):.2f})"
        lines.append((whole.corpus, spread(whole.elapsed_ms), ratio, skipped, told))
    rows = table(("slow lane", "elapsed p50/p95/p99 ms", "p95, times", "lanes not waited for", "status"), lines)
    return "\n\n".join((rows, *over))


def _p95(asked: Asked) -> float:
    return quantile(asked.elapsed_ms, 0.95)
