"""One measured run: a bus, a process of services, a caller, and what each of them spent.

In: what to run. Out: figures. Starts a nats-server, two children and a temporary folder; stops and removes all of it.
"""

import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_bench.children import Child, child, cpu_s, measured, peak_mb
from fanfuse_bench.corpora import TENANT, Questions
from fanfuse_bench.figures import Spread, spread
from fanfuse_bench.reading import Stamps, stamps
from fanfuse_runtime.server import NatsServer

_CALL_WITHIN_S = 600.0


def say(line: str) -> None:
    """Progress, beside the tables."""
    sys.stderr.write(f"  {line}\n")


@dataclass(frozen=True, slots=True)
class Load:
    """How a run asks: `pace` is {"at_once": n} or {"rate": per second}; `fields` go into every query."""

    queries: int
    warm: int
    pace: dict[str, float]
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What one run came to. CPU in milliseconds per query; `owners` and functions are shares of `loop_ms`."""

    name: str
    queries: int
    seconds: float
    statuses: dict[str, int]
    lanes: float
    lost: dict[str, int]
    heard_twice: int
    never_heard: int
    stored_twice: int
    broker_ms: Spread
    caller_ms: Spread
    after_lane_ms: Spread
    hops_ms: dict[str, float]
    cpu_ms: float
    loop_ms: float
    server_ms: float
    caller_cpu_ms: float
    samples: int
    owners: dict[str, float]
    functions: dict[str, float]
    inclusive: dict[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A bus of our own and an operator on it."""

    server: NatsServer
    folder: Path
    operator: Operator
    login: str = ""
    """User and password of whoever asks, where the bus wants them."""

    @property
    def caller_url(self) -> str:
        """Where the caller connects."""
        return self.server.url.replace("//", f"//{self.login}@") if self.login else self.server.url

    @property
    def data_dir(self) -> Path:
        """Where indexes are."""
        return self.folder / "data"


@asynccontextmanager
async def place(configuration: str = "", login: str = "") -> AsyncIterator[Place]:
    """A bus in a temporary folder. `configuration`: more for its server, such as users; `login`: of the caller."""
    with tempfile.TemporaryDirectory(prefix="fanfuse-bench-") as name:
        folder = Path(name)
        (folder / "nats.conf").write_text(configuration, encoding="utf-8")
        with NatsServer(folder / "nats", config=folder / "nats.conf" if configuration else None) as server:
            async with operator_on(server.url) as operator:
                yield Place(server, folder, operator, login)


class Subject:
    """A ready process of services on a bus, to be measured as often as wanted."""

    def __init__(self, name: str, where: Place, host: Child) -> None:
        self.name = name
        self._where = where
        self._host = host
        self._asked = 0

    async def run(self, questions: Questions, load: Load) -> Run:
        """One measured run; what `load.warm` asks before it is not counted."""
        self._asked += 1
        if load.warm:
            warm = questions.queries(load.warm, f"warm{self._asked}", **load.fields)
            await call(self._where, warm, {"at_once": 8})
        await self._host.ask("begin")
        before = cpu_s(self._where.server.pid)
        called = await call(self._where, questions.queries(load.queries, f"run{self._asked}", **load.fields), load.pace)
        spent_by_server = cpu_s(self._where.server.pid) - before
        spent = await self._host.ask("end")
        seen = await stamps(self._where.operator.bus.nc, TENANT)
        return _figures(self.name, load, called, spent, spent_by_server, seen)

    def peak_mb(self) -> float:
        """Peak resident memory of the process so far."""
        return peak_mb(self._host.pid)


@asynccontextmanager
async def services(name: str, where: Place, engines: str, decisions: str = "real") -> AsyncIterator[Subject]:
    """The whole flow in one process. `engines`: "embedded", or the simulated delay in milliseconds; `decisions`:
    "recorded" leaves them out."""
    arguments = (where.server.url, str(where.data_dir), engines, decisions)
    async with measured("host", *arguments, log=where.folder / "host.log") as host:
        yield Subject(name, where, host)


@asynccontextmanager
async def floor(where: Place, recording: Path, delay_ms: str) -> AsyncIterator[Subject]:
    """The floor."""
    arguments = (where.server.url, str(recording), delay_ms)
    async with measured("floor", *arguments, log=where.folder / "floor.log") as host:
        yield Subject("floor", where, host)


async def call(where: Place, queries: dict[str, Any], pace: dict[str, float]) -> Any:
    """Ask from a process of its own; what it tells is in `caller`."""
    plan = where.folder / "plan.json"
    plan.write_text(json.dumps({"tenant": TENANT, "queries": queries, **pace}))
    async with child("caller", where.caller_url, str(plan)) as caller:
        return await caller.hear(_CALL_WITHIN_S)


def _figures(name: str, load: Load, called: Any, spent: Any, server_s: float, seen: Stamps) -> Run:
    rows = called["asked"]
    per_query = 1e3 / load.queries
    answered = [row for row in rows if row["query_id"] in seen.answers]
    return Run(
        name=name,
        queries=load.queries,
        seconds=called["seconds"],
        statuses=_counted(row["status"] for row in rows),
        lanes=sum(row["lanes"] for row in rows) / max(1, len(rows)),
        lost=called["lost"],
        heard_twice=called["heard_twice"],
        never_heard=called["never_heard"],
        stored_twice=seen.second_answers,
        broker_ms=spread([(seen.answers[row["query_id"]] - row["submitted_ns"]) / 1e6 for row in answered]),
        caller_ms=spread([row["latency_ms"] for row in rows]),
        after_lane_ms=spread(_after_lanes(rows, seen)),
        hops_ms={
            stage: spread([row["hops"][stage] for row in rows if stage in row["hops"]]).p50
            for stage in (rows[0]["hops"] if rows else ())
        },
        cpu_ms=spent["cpu_s"] * per_query,
        loop_ms=spent["loop_cpu_s"] * per_query,
        server_ms=server_s * per_query,
        caller_cpu_ms=called["cpu_s"] * per_query,
        samples=spent["samples"],
        owners=spent["owners"],
        functions=spent["functions"],
        inclusive=spent["inclusive"],
    )


def _counted(values: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def _after_lanes(rows: Any, seen: Stamps) -> list[float]:
    return [
        (seen.answers[row["query_id"]] - seen.slowest_lane[row["query_id"]]) / 1e6
        for row in rows
        if row["query_id"] in seen.answers and row["query_id"] in seen.slowest_lane
    ]
