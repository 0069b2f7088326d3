"""Runs under faults: every role in processes of its own, a steady load, and a ledger of what became of each query.

In: options of the command line. Out: a Markdown report, and whether every promise was kept.
"""

import argparse
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nats.aio.client import Client

from fanfuse_bench.corpora import TENANT, Questions, real_questions, simulated_questions
from fanfuse_bench.figures import quantile, table
from fanfuse_bench.runs import say
from fanfuse_contracts import limits, streams, subjects
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing.faults import run
from fanfuse_testing.faults.asking import Asking
from fanfuse_testing.faults.disk import small_disk
from fanfuse_testing.faults.fleet import Fleet, Size, fleet
from fanfuse_testing.faults.ledger import End
from fanfuse_testing.faults.replies import ReplyFaults
from fanfuse_testing.faults.schedule import Chaos, plan_faults

_BROKEN_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Report:
    """Markdown, and whether the run kept what is promised."""

    text: str
    kept: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `faults`."""
    parser.add_argument("--queries", type=int, default=10_000, help="how many are asked (10,000)")
    parser.add_argument("--rate", type=float, default=20.0, help="queries per second (20)")
    parser.add_argument("--engines", choices=("simulated", "embedded"), default="simulated")
    parser.add_argument("--replicas", type=int, default=2, help="processes of every role (2)")
    parser.add_argument("--kill-every", type=float, default=5.0, help="seconds between two kill -9; 0: never (5)")
    parser.add_argument("--victims", default="", help="kill and freeze only what begins so, such as `fuser` (all)")
    parser.add_argument("--down", type=float, default=1.0, help="seconds until a killed process is started again (1)")
    parser.add_argument("--freeze-every", type=float, default=0.0, help="seconds between two SIGSTOP of 2.5 s (never)")
    parser.add_argument("--broker-every", type=float, default=0.0, help="seconds between two broker outages (never)")
    parser.add_argument("--broker-down", type=float, default=5.0, help="seconds of a broker outage (5)")
    parser.add_argument("--roll-every", type=float, default=0.0, help="seconds between two rolling restarts (never)")
    parser.add_argument("--replies", default="", help="faults of lane replies: drop=0.01,delay=0.02,duplicate=0.05 …")
    parser.add_argument("--seed", type=int, default=None, help="of the faults; drawn and told where none is given")
    parser.add_argument("--min-complete", type=float, default=0.0, help="least share of complete answers (0)")
    parser.add_argument("--plant", choices=tuple(PLANTS), default=None, help="spoil the run to see the ledger find it")


async def measure(options: argparse.Namespace) -> Report:
    """One run."""
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    say(f"seed {seed}")
    chaos = Chaos(
        kill_every_s=options.kill_every,
        down_s=options.down,
        freeze_every_s=options.freeze_every,
        broker_every_s=options.broker_every,
        broker_down_s=options.broker_down,
        roll_every_s=options.roll_every,
    )
    async with prepared(options.engines, Size(options.replicas), options.replies) as (running, questions):
        victims = [name for name in sorted(running.processes.started) if name.startswith(options.victims)]
        faults = plan_faults(chaos, seed, victims, options.queries / options.rate)
        load = load_of(questions, options.queries, options.rate)
        say(f"{options.queries} queries at {options.rate:g}/s, {len(faults)} faults, {len(running.pids)} processes")
        result = await run.run(running, load, faults, say, PLANTS.get(options.plant))
    return report(result, seed, options.min_complete)


@asynccontextmanager
async def prepared(
    engines: str, size: Size, replies: str = "", disk_mb: int | None = None
) -> AsyncIterator[tuple[Fleet, Questions]]:
    """Every role ready, on simulated or embedded engines. `disk_mb`: the broker has a disk of its own, of that size."""
    with tempfile.TemporaryDirectory(prefix="fanfuse-faults-") as name:
        async with AsyncExitStack() as stack:
            disk = await stack.enter_async_context(small_disk(Path(name) / "disk", disk_mb)) if disk_mb else None
            running = await stack.enter_async_context(fleet(Path(name), disk))
            operator, data_dir = running.processes.operator, running.processes.data_dir
            if engines == "embedded":
                questions = await real_questions(operator, data_dir)
            else:
                questions = await simulated_questions(operator)
            reply_faults = ReplyFaults.parse(replies) if replies else None
            await running.launch(size, reply_faults, embedded=engines == "embedded")
            yield running, questions


def load_of(questions: Questions, count: int, rate: float, name: str = "q") -> run.Load:
    """So many queries with the default budget."""
    asked = questions.queries(count, name)
    queries = {query_id: SubmittedQuery.model_validate(fields) for query_id, fields in asked.items()}
    return run.Load(TENANT, queries, rate, limits.DEFAULT_BUDGET_MS)


# -- report -----------------------------------------------------------------------------------------------------


def report(result: run.Result, seed: int | str, min_complete: float) -> Report:
    """The ledger as tables; `min_complete` is a share."""
    settled = result.balance
    kept = not settled.broken and result.settled and settled.complete_share >= min_complete
    parts = [_summary(result, seed), _ends(result), _faults(result.faults), *_drains(result.drained_s)]
    parts += [f"{title}: {_counts(counts)}" for title, counts in _details(result).items() if counts]
    parts += [f"- **broken**: {line}" for line in settled.broken[:_BROKEN_SHOWN]]
    if len(settled.broken) > _BROKEN_SHOWN:
        parts.append(f"- … and {len(settled.broken) - _BROKEN_SHOWN} more")
    if not result.settled:
        parts.append("- **broken**: work or answers were still missing when the wait was over")
    verdict = "kept" if kept else "BROKEN"
    parts.append(f"ledger {verdict}: {settled.complete_share:.2%} complete in time (wanted {min_complete:.2%})")
    return Report("\n\n".join(parts), kept)


def _summary(result: run.Result, seed: int | str) -> str:
    settled = result.balance
    header = (
        "seed",
        "seconds",
        "accepted",
        "not accepted",
        "stored to answer p50 / p95 / p99 / max ms",
        "late replies",
        "sent again",
    )
    times = [quantile(settled.after_ms, share) for share in (0.5, 0.95, 0.99, 1.0)]
    spread = " / ".join(f"{time:.0f}" for time in times)
    row = (
        seed, f"{result.seconds:.0f}", settled.accepted, _counts(result.refused) or 0, spread, settled.late_replies,
        settled.resent,
    )  # fmt: skip
    return table(header, [row])


def _ends(result: run.Result) -> str:
    settled = result.balance
    rows = [
        (end.value, settled.ends.get(end, 0), f"{settled.ends.get(end, 0) / max(1, settled.accepted):.2%}")
        for end in End
    ]
    return table(("accepted queries", "number", "share"), rows)


def _faults(faults: Mapping[str, int]) -> str:
    return table(("fault", "times"), sorted(faults.items())) if faults else "no faults"


def _drains(seconds: Sequence[float]) -> list[str]:
    """How long replaced processes took to end."""
    times = " / ".join(f"{quantile(seconds, share):.1f}" for share in (0.5, 0.95, 1.0))
    return [f"SIGTERM to the end of a process, p50 / p95 / max: {times} s"] if seconds else []


def _details(result: run.Result) -> dict[str, Mapping[str, int]]:
    return {"lanes lost": result.balance.lost_lanes, "reasons": result.balance.reasons}


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items(), key=lambda row: -row[1]))


# -- plants -----------------------------------------------------------------------------------------------------


async def _lose_one(reader: Client, asking: Asking) -> None:
    subject = subjects.query_fused(TENANT, next(iter(asking.accepted)))
    await reader.jetstream().purge_stream(streams.ANSWERS.name, subject=subject)


async def _double_one(reader: Client, asking: Asking) -> None:
    # As a broker without the limit of one message per subject would store and republish a second answer.
    js = reader.jetstream()
    config = (await js.stream_info(streams.ANSWERS.name)).config
    await js.update_stream(config.evolve(max_msgs_per_subject=-1, discard_new_per_subject=False))
    subject = subjects.query_fused(TENANT, next(iter(asking.accepted)))
    first = await js.get_last_msg(streams.ANSWERS.name, subject)
    await js.publish(subject, first.data or b"")


PLANTS: Final[dict[str, Callable[[Client, Asking], Awaitable[None]]]] = {"lost": _lose_one, "double": _double_one}
