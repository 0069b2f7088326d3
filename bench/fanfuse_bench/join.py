"""Why the join listens to the republished subject: replies missed by it, by the subject workers publish on, by reading.

In: options of the command line. Out: a Markdown table of replies that no joiner noticed. Plain publishes and the
runtime's own subscription and batched read; no service runs.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from fanfuse_bench.figures import spread, table
from fanfuse_bench.runs import say
from fanfuse_contracts import streams, subjects
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.setup import ensure_stream

_TENANT: Final = "bench"
_LANES: Final = ("vector", "keyword", "graph")
_SPREAD_S: Final = 0.004
"""Replies fall around the moment of subscription, where they can be missed."""
_PATIENCE_S: Final = 1.0
Pattern = Callable[[str, str], str]
VARIANTS: Final[dict[str, tuple[Pattern, int]]] = {
    "republished subject, then read": (subjects.live_retrieved_of_query, 1),
    "published subject, then read": (subjects.retrieved_of_query, 1),
    "published subject, no read": (subjects.retrieved_of_query, 0),
}


@dataclass(slots=True)
class Found:
    """What one variant came to."""

    missed: int = 0
    incomplete: int = 0
    after_ms: list[float] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `join`."""
    parser.add_argument("--queries", type=int, default=8_000, help="how many per variant (8,000)")
    parser.add_argument("--concurrency", type=int, default=32, help="queries in flight (32)")


async def measure(options: argparse.Namespace) -> str:
    """Every variant on one broker."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="fanfuse-join-") as folder, NatsServer(Path(folder)) as server:
        async with _buses(server.url) as (joiner, worker):
            await ensure_stream(joiner.js, streams.RETRIEVED)
            for number, (name, (pattern, reads)) in enumerate(VARIANTS.items()):
                variant = _Variant(joiner, worker, f"v{number}", pattern, reads)
                found = await variant.run(options.queries, options.concurrency)
                rows.append((name, options.queries, found.missed, found.incomplete, spread(found.after_ms)))
                say(f"{name}: {found.missed} replies missed")
    header = (
        "joiner",
        "queries",
        "replies missed",
        "queries incomplete",
        "last reply to joined p50/p95/p99 ms",
    )
    return table(header, rows)


@asynccontextmanager
async def _buses(url: str) -> AsyncIterator[tuple[Bus, Bus]]:
    async with AsyncExitStack() as stack:
        clients = [await nats.connect(url) for _ in range(2)]
        for client in clients:
            stack.push_async_callback(client.close)
        joiner, worker = (Bus(client, BrokerClock(), "join") for client in clients)
        yield joiner, worker


class _Variant:
    def __init__(self, joiner: Bus, worker: Bus, name: str, pattern: Pattern, reads: int) -> None:
        self._joiner = joiner
        self._worker: Client = worker.nc
        self._name = name
        self._pattern = pattern
        self._reads = reads
        self._draw = random.Random(7)
        self._found = Found()

    async def run(self, queries: int, concurrency: int) -> Found:
        waiting = iter(range(queries))

        async def work() -> None:
            for number in waiting:
                await self._one(f"{self._name}-{number}")

        await asyncio.gather(*(work() for _ in range(concurrency)))
        return self._found

    async def _one(self, query_id: str) -> None:
        seen: set[str] = set()
        done = asyncio.Event()

        def notice(lane: str) -> None:
            seen.add(lane)
            if len(seen) == len(_LANES):
                done.set()

        async def hear(msg: Msg) -> None:
            notice(subjects.parse_lane(msg.subject))

        replies = asyncio.gather(*(self._reply(query_id, lane) for lane in _LANES))
        await asyncio.sleep(self._draw.uniform(0, _SPREAD_S))
        async with self._joiner.subscribed(self._pattern(_TENANT, query_id), hear):
            for _ in range(self._reads):
                pattern = subjects.retrieved_of_query(_TENANT, query_id)
                for stored in await self._joiner.last_of_each(streams.RETRIEVED.name, pattern):
                    notice(subjects.parse_lane(stored.subject))
            last = max(await replies)
            try:
                await asyncio.wait_for(done.wait(), _PATIENCE_S)
            except TimeoutError:
                self._found.incomplete += 1
                self._found.missed += len(_LANES) - len(seen)
            else:
                self._found.after_ms.append(max(0.0, time.monotonic() - last) * 1e3)

    async def _reply(self, query_id: str, lane: str) -> float:
        await asyncio.sleep(self._draw.uniform(0, 2 * _SPREAD_S))
        await self._worker.request(subjects.retrieved(_TENANT, query_id, lane), b"{}", timeout=5.0)
        return time.monotonic()
