"""Both keyword clients against a server that is busy, slow, gone or full of idle sockets."""

import asyncio
import gc
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from fanfuse_backend_workers.adapters import elasticsearch, lucene_calls, opensearch
from fanfuse_backend_workers.adapters.lucene_failures import ServerError
from fanfuse_backend_workers.ports import EngineResult, SearchEngine, SearchError, SearchRequest
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from fanfuse_contracts.enums import FailureKind
from fanfuse_testing.ports import free_port
from fanfuse_testing.server_case import card_of
from tests.servers.opensearch_errors import (
    BUSY,
    KEY,
    NO_SHARD,
    PERMANENT,
    SECRET_TEXT,
    TRANSIENT,
    hits,
    refusal,
    searched,
)
from tests.servers.opensearch_scripted import Answer, Asked, ScriptedServer

Connect = Callable[[ServerSettings], ServerBackend]
BUDGET_S = 10.0
"""A slow machine must not turn a refusal into a timeout."""


@pytest.fixture(params=[elasticsearch.connect, opensearch.connect], ids=["elasticsearch", "opensearch"])
def connect(request: pytest.FixtureRequest) -> Connect:
    chosen: Connect = request.param
    return chosen


@asynccontextmanager
async def opened(connect: Connect, server: ScriptedServer, connections: int = 16) -> AsyncIterator[SearchEngine]:
    backend = connect(ServerSettings(url=server.url, connections=connections))
    try:
        yield await backend.open(card_of(backend, KEY))
    finally:
        await backend.close()


def asked(within_s: float = BUDGET_S) -> SearchRequest:
    return SearchRequest(KEY.tenant, KEY.corpus, "apollo", window=10, timeout_s=within_s)


async def outcome(engine: SearchEngine, request: SearchRequest) -> EngineResult | SearchError:
    try:
        return await engine.search(request)
    except SearchError as error:
        return error


def script(*answers: Answer) -> Callable[[Asked], Answer]:
    """These answers in their order; the last one for ever."""
    left = list(answers)

    def answer(_: Asked) -> Answer:
        return left.pop(0) if len(left) > 1 else left[0]

    return searched(answer)


@pytest.mark.parametrize(
    ("refused", "attempts", "kind"),
    [
        (BUSY, 2, FailureKind.OVERLOADED),
        (TRANSIENT, 2, FailureKind.OVERLOADED),
        (PERMANENT, 1, FailureKind.OVERLOADED),
        (NO_SHARD, 2, FailureKind.UNAVAILABLE),
    ],
    ids=["rejected", "transient", "permanent", "no_shard"],
)
async def test_a_busy_server_is_asked_once_more_and_no_oftener(
    connect: Connect, refused: Answer, attempts: int, kind: FailureKind
) -> None:
    """ELA-02: 50 commands at once: bounded attempts, long before the budget's end, typed, never an empty list."""
    async with ScriptedServer(script(refused)) as server, opened(connect, server) as engine:
        started = time.monotonic()
        outcomes = await asyncio.gather(*(outcome(engine, asked()) for _ in range(50)))
        assert time.monotonic() - started < BUDGET_S
        assert {one.kind for one in outcomes if isinstance(one, SearchError)} == {kind}
        assert len([one for one in outcomes if isinstance(one, SearchError)]) == 50
        assert len(server.asked_for("/_search")) == 50 * attempts
        assert server.most_sockets <= 16


async def test_attempts_of_a_command_lie_apart_by_chance(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """ELA-02: retries of commands that were refused together do not come together. Asserted on the pauses that were
    drawn: on a busy machine many end at once, however long each was."""
    pauses: list[float] = []

    def draw(error: ServerError, patience: lucene_calls.Patience, attempt: int) -> float | None:
        pause = pause_after(error, patience, attempt)
        pauses.extend([] if pause is None else [pause])
        return pause

    pause_after = lucene_calls.pause_after
    monkeypatch.setattr(lucene_calls, "pause_after", draw)
    times: list[float] = []

    def answer(_: Asked) -> Answer:
        times.append(time.monotonic())
        return BUSY

    async with ScriptedServer(searched(answer)) as server, opened(connect, server, connections=64) as engine:
        await asyncio.gather(*(outcome(engine, asked()) for _ in range(40)))
    assert len(times) == 80
    assert sorted(times)[40] - min(times) >= 0.1
    assert len(pauses) == 40
    assert max(pauses) - min(pauses) >= 0.02


async def test_a_second_attempt_that_works_is_the_answer(connect: Connect) -> None:
    """ELA-02: after 429, after 503, and on a socket that the server closed while it lay idle."""
    for first in (BUSY, NO_SHARD, Answer(0)):
        async with ScriptedServer(script(first, hits("c1"))) as server, opened(connect, server) as engine:
            found = await engine.search(asked())
            assert [hit.chunk_id for hit in found.hits] == ["c1"]
            assert len(server.asked_for("/_search")) == 2


async def test_retry_after_is_honoured_where_it_fits(connect: Connect) -> None:
    waits = refusal(429, "rejected_execution_exception", {"Retry-After": "1"})
    async with ScriptedServer(script(waits, hits("c1"))) as server, opened(connect, server) as engine:
        started = time.monotonic()
        assert len((await engine.search(asked(10.0))).hits) == 1
        assert time.monotonic() - started >= 1.0
    never = refusal(503, "unavailable_exception", {"Retry-After": "30"})
    async with ScriptedServer(script(never, hits("c1"))) as server, opened(connect, server) as engine:
        failed = await outcome(engine, asked())
        assert isinstance(failed, SearchError)
        assert failed.kind is FailureKind.UNAVAILABLE
        assert len(server.asked_for("/_search")) == 1


async def test_no_second_attempt_without_time_for_it(connect: Connect) -> None:
    async with ScriptedServer(script(BUSY)) as server, opened(connect, server) as engine:
        failed = await outcome(engine, asked(0.1))
        assert isinstance(failed, SearchError)
        assert failed.kind is FailureKind.OVERLOADED
        assert len(server.asked_for("/_search")) == 1


async def test_idle_sockets_are_bounded_and_their_end_is_survived(connect: Connect) -> None:
    """ELA-06: 200 commands, idle until the server has closed every socket, 200 again; then no socket is left."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with ScriptedServer(script(hits("c1")), idle_s=1.0) as server:
            async with opened(connect, server) as engine:
                for _ in range(2):
                    found = await asyncio.gather(*(engine.search(asked(20.0)) for _ in range(200)))
                    assert {len(one.hits) for one in found} == {1}
                    await server.emptied()
                assert server.most_sockets <= 16
                assert len((await engine.search(asked())).hits) == 1
            await server.emptied()
        gc.collect()


async def test_waiting_for_a_connection_counts_against_the_budget(connect: Connect) -> None:
    """ELA-06: who got no connection says overloaded, who got no answer says timeout; nobody waits longer."""
    slow = hits("c1")
    slow = Answer(slow.status, slow.body, slow.headers, after_s=1.0)
    async with ScriptedServer(script(slow)) as server, opened(connect, server, connections=2) as engine:
        started = time.monotonic()
        outcomes = await asyncio.gather(*(outcome(engine, asked(2.5)) for _ in range(20)))
        assert time.monotonic() - started < 9.0, "on two connections all would take 10 s"
        assert server.most_sockets <= 4
    kinds = [one.kind if isinstance(one, SearchError) else None for one in outcomes]
    assert kinds.count(FailureKind.OVERLOADED) >= 14
    assert set(kinds) <= {None, FailureKind.OVERLOADED, FailureKind.TIMEOUT}


async def test_a_server_that_is_silent_or_gone(connect: Connect) -> None:
    silent = Answer(after_s=5.0)
    async with ScriptedServer(script(silent)) as server, opened(connect, server) as engine:
        failed = await outcome(engine, asked(0.2))
        assert isinstance(failed, SearchError)
        assert failed.kind is FailureKind.TIMEOUT
    backend = connect(ServerSettings(url=f"http://127.0.0.1:{free_port()}"))
    with pytest.raises(SearchError) as gone:
        await backend.count(KEY)
    assert gone.value.kind is FailureKind.UNAVAILABLE
    await backend.close()


def _partial() -> Iterator[tuple[Answer, str]]:
    shards = {"total": 3, "successful": 2, "failed": 1, "failures": [{"reason": {"reason": SECRET_TEXT}}]}
    yield hits("c1", _shards=shards), "1 of 3 shards failed"
    yield hits("c1", timed_out=True), "the server ran out of time"


async def test_a_short_list_says_that_it_is_short(connect: Connect) -> None:
    """Timed out, or shards that failed: hits, and a reason."""
    for answer, cut in _partial():
        async with ScriptedServer(script(answer)) as server, opened(connect, server) as engine:
            found = await engine.search(asked())
            assert (len(found.hits), found.cut) == (1, cut)
