"""1 to 4 processes of workers with few slots: what they carry at saturation.

In: how many queries per number of processes. Out: a series. Every role is a process of its own; a search takes 20 ms
and a worker has one slot, so the workers are what a query waits for.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from fanfuse_all_in_one.operating import Operator
from fanfuse_bench import runs
from fanfuse_bench.corpora import Questions, simulated_questions
from fanfuse_bench.growth_series import Series
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.limits import MAX_BUDGET_MS
from fanfuse_runtime.server import NatsServer
from fanfuse_testing import simulated_workers
from fanfuse_testing.faults.fleet import Fleet, fleet
from fanfuse_testing.simulated import KEYWORD_CARD

WORKERS: Final = (1, 2, 4)
_LANES: Final = 8
"""Of one pool, so that few queries a second are much work for it and little for everybody else."""
_AT_ONCE: Final = 16
_CORPORA: Final = [f"one-{number}" for number in range(_LANES)]


async def measure(options: argparse.Namespace) -> Series:
    """A row per number of processes."""
    with tempfile.TemporaryDirectory(prefix="fanfuse-bench-") as name:
        async with fleet(Path(name)) as running:
            questions = await _register(running.processes.operator)
            for stage in Stage:
                if stage is not Stage.BACKEND_WORKERS:
                    running.processes.launch(stage, f"{stage.value}-1")
            rows = tuple([await _row(options, running, questions, number) for number in WORKERS])
    told = (
        f"{_LANES} lanes of one pool per query, {options.delay_ms:g} ms each, one slot per process of workers, "
        f"{_AT_ONCE} queries at once."
    )
    return Series("workers", "process", ("queries/s", "p50 ms"), rows, told)


async def _register(operator: Operator) -> Questions:
    for corpus in _CORPORA:
        await operator.put_card(KEYWORD_CARD.model_copy(update={"corpus": corpus}), over=0)
    return await simulated_questions(operator)


async def _row(options: argparse.Namespace, running: Fleet, questions: Questions, number: int) -> tuple[float, ...]:
    own = {
        simulated_workers.DELAY_MS: f"{options.delay_ms:g}",
        "FANFUSE_WORKER_IN_FLIGHT": "1",
        "FANFUSE_WORKER_POOLS": f"{Kind.KEYWORD.value}/main",
    }
    for each in range(1, number + 1):
        name = f"{Stage.BACKEND_WORKERS.value}-{each}"
        if name not in running.processes.started:
            running.processes.launch(Stage.BACKEND_WORKERS, name, own, module=simulated_workers.__name__)
    await running.processes.ready()
    runs.say(f"{number} processes of workers: {options.rounds} times {options.queries} queries")
    done = [await _saturated(options, running, questions, f"w{number}-{turn}") for turn in range(options.rounds)]
    return number, median(one[0] for one in done), median(one[1] for one in done)


async def _saturated(
    options: argparse.Namespace, running: Fleet, questions: Questions, name: str
) -> tuple[float, float]:
    """Queries per second, and p50 at the caller."""
    assert isinstance(running.server, NatsServer)
    where = runs.Place(running.server, running.processes.folder, running.processes.operator)
    fields = {"corpora": _CORPORA, "include_text": False, "budget_ms": MAX_BUDGET_MS}
    called = await runs.call(where, questions.queries(options.queries, name, **fields), {"at_once": _AT_ONCE})
    rows = called["asked"]
    assert [row["status"] for row in rows] == ["complete"] * options.queries, (called["lost"], rows[:1])
    return options.queries / called["seconds"], median(row["latency_ms"] for row in rows)
