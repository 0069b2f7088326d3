"""How much a fleet holds: memory and tasks of every process, subscriptions and consumers of the broker.

In: a running fleet. Out: one reading. Needs Linux (/proc).
"""

import asyncio
import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fanfuse_contracts import metrics
from fanfuse_testing.faults.fleet import Fleet

BROKER: Final = "broker"
_SERVICE_CONNECTION: Final = "fanfuse"


@dataclass(frozen=True, slots=True)
class Vitals:
    """One reading. `at_s`: seconds since the load began."""

    at_s: float
    rss_mb: Mapping[str, float]
    tasks: Mapping[str, int]
    subscriptions: int
    """Of all connections of services."""
    consumers: int
    """Of all streams."""


async def read_vitals(fleet: Fleet, at_s: float) -> Vitals:
    """Read everything now; every process must be running."""
    names = sorted(fleet.processes.started)
    tasks = {name: int(await fleet.processes.metric(name, metrics.TASKS.name)) for name in names}
    connections = await asyncio.to_thread(_monitored, fleet.monitoring, "connz?limit=1024")
    jetstream = await asyncio.to_thread(_monitored, fleet.monitoring, "jsz")
    return Vitals(
        at_s,
        {name: rss_mb(pid) for name, pid in fleet.pids.items()},
        tasks,
        sum(row["subscriptions"] for row in connections["connections"] if row.get("name") == _SERVICE_CONNECTION),
        jetstream["consumers"],
    )


def rss_mb(pid: int) -> float:
    """Resident memory of a process, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"process {pid} has no memory: it has ended")


def _monitored(port: int, page: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as response:
        return json.loads(response.read())
