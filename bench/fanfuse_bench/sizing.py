"""How many replicas a load needs: what one query costs each stage is measured, the table is computed from that.

In: options of the command line; with `--from` figures of an earlier run instead of a new one. Out: Markdown, and with
`--out` the measured figures as JSON. docs/sizing.md shows the tables of deploy/sizing.json.
"""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import nats
from nats.aio.msg import Msg

from fanfuse_bench import faults
from fanfuse_bench.children import cpu_s
from fanfuse_bench.corpora import TENANT, Questions
from fanfuse_bench.runs import say
from fanfuse_bench.sizing_report import Measured, StageCost, fill, report
from fanfuse_contracts import limits, metrics, streams
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_contracts.subjects import ROOT
from fanfuse_testing.faults import run
from fanfuse_testing.faults.fleet import Fleet, Size
from fanfuse_testing.faults.vitals import BROKER, rss_mb

_WARM: Final = 100
_REST_S: Final = 10.0
_PENDING_BYTES: Final = 256 * 1024 * 1024


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `sizing`."""
    parser.add_argument("--queries", type=int, default=1_200, help="how many are measured (1,200)")
    parser.add_argument("--rate", type=float, default=20.0, help="queries per second (20)")
    parser.add_argument("--out", type=Path, default=None, help="write the measured figures there")
    parser.add_argument("--from", dest="source", type=Path, default=None, help="compute from these figures")
    parser.add_argument("--page", type=Path, default=None, help="put the tables between the marks of this page")
    parser.add_argument("--engine-ms", type=float, default=50.0, help="time of an engine's search in the table (50)")


async def measure(options: argparse.Namespace) -> faults.Report:
    """The tables; not kept where an answer of the run was not complete: its cost would say little."""
    measured = await _obtained(options)
    if options.page is not None:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(fill(page, measured, options.engine_ms), encoding="utf-8")
    return faults.Report(report(measured, options.engine_ms), measured.complete == measured.queries)


async def _obtained(options: argparse.Namespace) -> Measured:
    if options.source is not None:
        return Measured.from_json(options.source.read_text(encoding="utf-8"))
    async with faults.prepared("simulated", Size(1)) as (fleet, questions):
        traffic = await _heard(fleet, _patient(questions, _WARM, options.rate, "warm"))
        load = _patient(questions, options.queries, options.rate, "sized")
        say(f"{options.queries} queries at {options.rate:g}/s, one process of each service")
        measured = await _measured(fleet, load, options, traffic)
    if options.out is not None:
        options.out.write_text(measured.to_json(), encoding="utf-8")
    return measured


def _patient(questions: Questions, count: int, rate: float, name: str) -> run.Load:
    """With the longest budget: on a busy machine a query takes longer, and costs the same CPU."""
    asked = questions.queries(count, name, budget_ms=limits.MAX_BUDGET_MS)
    queries = {query_id: SubmittedQuery.model_validate(fields) for query_id, fields in asked.items()}
    return run.Load(TENANT, queries, rate, limits.MAX_BUDGET_MS)


async def _heard(fleet: Fleet, load: run.Load) -> "_Traffic":
    """What is published for a load. Not the measured one: whoever listens to everything costs the broker CPU."""
    traffic = _Traffic()
    ear = await nats.connect(fleet.server.url)
    await ear.subscribe(f"{ROOT}.>", cb=traffic.hear, pending_bytes_limit=_PENDING_BYTES)
    await ear.flush()
    await run.run(fleet, load, (), say)
    await ear.close()
    return traffic


async def _measured(fleet: Fleet, load: run.Load, options: argparse.Namespace, traffic: "_Traffic") -> Measured:
    idle = await _idle(fleet)
    before, service, stored = _spent(fleet), await _service_times(fleet), await _answers_bytes(fleet)
    began = time.monotonic()
    result = await run.run(fleet, load, (), say)
    seconds = time.monotonic() - began
    after, memory = _spent(fleet), {name: rss_mb(pid) for name, pid in fleet.pids.items()}
    services = await _service_times(fleet)
    stored = await _answers_bytes(fleet) - stored

    def cost(name: str, service_ms: float) -> StageCost:
        # What a process does between queries (heartbeats, watches, clocks) is no cost of a query.
        own = (after[name] - before[name]) * 1e3 - idle[name] * seconds
        return StageCost(own / options.queries, idle[name], service_ms, memory[name])

    return Measured(
        options.queries,
        round(result.balance.complete_share * result.balance.accepted),
        round(traffic.messages[streams.RETRIEVED.name] / _WARM),
        options.rate,
        {stage.value: cost(f"{stage.value}-1", _mean_ms(service, services, stage.value)) for stage in Stage},
        cost(BROKER, 0.0),
        {name: number / _WARM for name, number in sorted(traffic.bytes.items())},
        {name: number / _WARM for name, number in sorted(traffic.messages.items())},
        stored / options.queries,
    )


class _Traffic:
    """What is published into each stream."""

    def __init__(self) -> None:
        self.bytes: Counter[str] = Counter()
        self.messages: Counter[str] = Counter()

    async def hear(self, msg: Msg) -> None:
        name = _stream_of(msg.subject)
        self.messages[name] += 1
        self.bytes[name] += (
            len(msg.data) + len(msg.subject) + sum(len(k) + len(v) for k, v in (msg.headers or {}).items())
        )


def _stream_of(subject: str) -> str:
    """The stream that stores a subject; what none stores is `core`."""
    return next((s.name for s in streams.STREAMS if any(_covers(one, subject) for one in s.subjects)), "core")


def _covers(pattern: str, subject: str) -> bool:
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(given) >= len(wanted) and all(w in ("*", g) for w, g in zip(wanted[:-1], given, strict=False))
    return len(wanted) == len(given) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))


def _spent(fleet: Fleet) -> dict[str, float]:
    return {name: cpu_s(pid) for name, pid in fleet.pids.items()}


async def _idle(fleet: Fleet) -> dict[str, float]:
    """CPU milliseconds per second of each process while nothing is asked."""
    before = _spent(fleet)
    await asyncio.sleep(_REST_S)
    return {name: (spent - before[name]) / _REST_S * 1e3 for name, spent in _spent(fleet).items()}


async def _service_times(fleet: Fleet) -> dict[str, tuple[float, float]]:
    """Seconds and messages of each stage so far."""
    name = metrics.STAGE_SECONDS.name
    return {
        stage.value: (
            await fleet.processes.metric(f"{stage.value}-1", f"{name}_sum", stage=stage.value),
            await fleet.processes.metric(f"{stage.value}-1", f"{name}_count", stage=stage.value),
        )
        for stage in Stage
    }


def _mean_ms(before: Mapping[str, tuple[float, float]], after: Mapping[str, tuple[float, float]], name: str) -> float:
    messages = after[name][1] - before[name][1]
    return (after[name][0] - before[name][0]) / messages * 1e3 if messages else 0.0


async def _answers_bytes(fleet: Fleet) -> int:
    return (await fleet.processes.operator.bus.js.stream_info(streams.ANSWERS.name)).state.bytes
