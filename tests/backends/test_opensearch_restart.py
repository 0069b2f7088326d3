"""A server that is killed in the middle of a load and of searches, and comes back: nothing is lost, nobody restarts."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest

from fanfuse_backend_workers.ports import SearchEngine, SearchError
from fanfuse_backend_workers.servers import IndexKey, ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind
from fanfuse_testing.engine_suite import chunk, request
from fanfuse_testing.flow import eventually
from fanfuse_testing.server_case import SHAPE, card_of, write
from tests.servers.keyword_servers import KILLABLE_SERVERS, KillableServer
from tests.servers.noida import NoidaServer
from tests.servers.opensearch import OpenSearchServer

LIVE, LOADED = IndexKey("acme", "docs", "live"), IndexKey("acme", "docs", "loaded")
BUDGET_S = 2.0
KEPT_AFTER_S = 2.5
"""The stand-in writes to disk once a second; a real server before it acknowledges."""
BATCH = 20
BATCHES = 40


Running = tuple[NoidaServer | OpenSearchServer, ServerBackend]


@pytest.fixture(params=KILLABLE_SERVERS)
async def running(request: pytest.FixtureRequest) -> AsyncIterator[Running]:
    kind: KillableServer = request.param
    server = await asyncio.to_thread(kind.own)
    backend = kind.connect(ServerSettings(url=server.url))
    yield server, backend
    await backend.close()
    server.close()


async def searched(engine: SearchEngine) -> tuple[str, float]:
    """What became of one search, and how long it took."""
    asked = request(tenant=LIVE.tenant, corpus=LIVE.corpus, window=10)
    started = time.monotonic()
    try:
        found = await engine.search(asked)
        outcome = "answered" if len(found.hits) == 10 else f"{len(found.hits)} hits"
    except SearchError as error:
        outcome = error.kind.value
    return outcome, time.monotonic() - started


async def load(backend: ServerBackend, written: list[int], going: asyncio.Event) -> None:
    """Write every batch of a generation, telling of each."""
    for number in range(BATCHES):
        await going.wait()
        await backend.upsert(LOADED, [batch_chunk(number, place) for place in range(BATCH)])
        written.append(number)


def batch_chunk(number: int, place: int) -> Chunk:
    return chunk(f"c{number:02}-{place:02}", 1 + place % 10)


async def test_a_load_and_searches_outlive_the_server(running: Running, say: Callable[[str], None]) -> None:
    """Every search is answered or fails typed in its time; the load is complete; no client is made anew."""
    server, backend = running
    await write(backend, LIVE, [chunk(f"c{number:02}") for number in range(50)])
    engine = await backend.open(card_of(backend, LIVE))
    await backend.ensure(LOADED, SHAPE)
    outcomes: list[tuple[str, float]] = []
    written: list[int] = []

    async def ask_on(stop: asyncio.Event) -> None:
        while not stop.is_set():
            outcomes.append(await searched(engine))
            await asyncio.sleep(0.02)

    stop, going = asyncio.Event(), asyncio.Event()
    going.set()
    asking = [asyncio.create_task(ask_on(stop)) for _ in range(4)]
    loading = asyncio.create_task(load(backend, written, going))
    await eventually(lambda: len(written) >= 5, within_s=60)
    if isinstance(server, NoidaServer):
        going.clear()
        await asyncio.sleep(KEPT_AFTER_S)
    server.kill()
    going.set()
    await eventually(lambda: any(kind == "unavailable" for kind, _ in outcomes), within_s=60)
    assert not loading.done()
    await asyncio.to_thread(server.start)
    await asyncio.wait_for(loading, 120)
    await eventually(lambda: outcomes[-1][0] == "answered", within_s=60)
    stop.set()
    await asyncio.gather(*asking)
    await backend.refresh(LOADED)
    assert await backend.count(LOADED) == BATCH * BATCHES
    assert [kind for kind, _ in [await searched(engine) for _ in range(20)]] == ["answered"] * 20
    counts = Counter(kind for kind, _ in outcomes)
    slowest = max(spent for _, spent in outcomes)
    assert set(counts) <= {"answered", *(kind.value for kind in FailureKind if kind.counts_against_backend)}
    assert slowest < 5.0 + BUDGET_S
    say(f"{type(server).__name__} killed in a load of {BATCH * BATCHES}: {dict(counts)}, slowest {slowest:.2f} s")
