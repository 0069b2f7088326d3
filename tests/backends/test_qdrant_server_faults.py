"""A Qdrant server that fails: each failure has its kind, costs no more than its time, and is over when it is over."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from fanfuse_backend_workers.adapters import qdrant_server_search
from fanfuse_backend_workers.adapters.qdrant import connect
from fanfuse_backend_workers.ports import SearchEngine, SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, ServerBackend, ServerSettings
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_testing.engine_suite import chunk, request
from fanfuse_testing.server_case import card_of, write
from tests.servers.qdrant import Fault, QdrantShim

KEY = IndexKey("acme", "docs", "g1")
ASKED = request()
QUERY = "/points/query"
SECRET = "key-that-nobody-may-read"


@pytest.fixture
def shim() -> Iterator[QdrantShim]:
    shim = QdrantShim().start()
    yield shim
    shim.stop()


@pytest.fixture
async def backend(shim: QdrantShim) -> AsyncIterator[ServerBackend]:
    backend = connect(ServerSettings(url=shim.url, connections=2))
    await write(backend, KEY, [chunk("c1", 3), chunk("c2", 5)])
    yield backend
    await backend.close()


@pytest.fixture
async def engine(backend: ServerBackend) -> SearchEngine:
    return await backend.open(card_of(backend, KEY))


async def failure(engine: SearchEngine, asked: SearchRequest = ASKED) -> SearchError:
    with pytest.raises(SearchError) as raised:
        await engine.search(asked)
    return raised.value


def timed(timeout_s: float) -> SearchRequest:
    return SearchRequest("acme", "docs", "", window=10, timeout_s=timeout_s, vector=ASKED.vector)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.BAD_REQUEST),
        (401, FailureKind.CONFIG),
        (403, FailureKind.CONFIG),
        (404, FailureKind.NOT_FOUND),
        (413, FailureKind.TOO_LARGE),
        (418, FailureKind.BAD_REQUEST),
        (429, FailureKind.OVERLOADED),
        (500, FailureKind.UNAVAILABLE),
        (502, FailureKind.UNAVAILABLE),
        (503, FailureKind.UNAVAILABLE),
        (504, FailureKind.TIMEOUT),
    ],
)
async def test_a_status_has_its_kind_and_the_servers_words_are_kept_back(
    shim: QdrantShim, engine: SearchEngine, status: int, kind: FailureKind
) -> None:
    shim.fault = Fault(status, path=QUERY, calls=None)
    error = await failure(engine)
    assert (error.kind, str(status) in error.message, "secret" in error.message) == (kind, True, False)
    shim.fault = None
    assert len((await engine.search(ASKED)).hits) == 2


@pytest.mark.parametrize("fault", [Fault(429), Fault(503), Fault(429, (("Retry-After", "0"),)), Fault(cut=True)])
async def test_one_failure_that_passes_is_not_seen(shim: QdrantShim, engine: SearchEngine, fault: Fault) -> None:
    """An overloaded moment, and a socket that the server closed while it was idle."""
    shim.fault = fault
    assert len((await engine.search(ASKED)).hits) == 2


@pytest.mark.parametrize("status", [400, 500, 404])
async def test_what_does_not_pass_is_asked_once(shim: QdrantShim, engine: SearchEngine, status: int) -> None:
    shim.fault = Fault(status, calls=None)
    before = len(shim.seen)
    await failure(engine)
    assert len(shim.seen) == before + 1


@pytest.mark.parametrize("fault", [Fault(503, calls=None), Fault(429, (("Retry-After", "1"),), calls=None)])
async def test_a_second_failure_is_the_last(shim: QdrantShim, engine: SearchEngine, fault: Fault) -> None:
    shim.fault = fault
    before = len(shim.seen)
    await failure(engine)
    assert len(shim.seen) == before + 2


@pytest.mark.parametrize("after", ["60", "Wed, 21 Oct 2026 07:28:00 GMT", "²"])
async def test_a_time_to_come_again_that_does_not_fit_is_not_waited_for(
    shim: QdrantShim, engine: SearchEngine, after: str
) -> None:
    shim.fault = Fault(429, (("Retry-After", after),), calls=None)
    before, started = len(shim.seen), time.perf_counter()
    error = await failure(engine)
    assert (error.kind, len(shim.seen) - before) == (FailureKind.OVERLOADED, 1)
    assert time.perf_counter() - started < ASKED.timeout_s


async def test_a_slow_answer_costs_the_lane_its_time_and_no_more(shim: QdrantShim, engine: SearchEngine) -> None:
    shim.fault = Fault(delay_s=30, path=QUERY, calls=None)
    started = time.perf_counter()
    error = await failure(engine, timed(0.2))
    assert (error.kind, time.perf_counter() - started < 2) == (FailureKind.TIMEOUT, True)


async def test_waiting_for_a_connection_is_overload(shim: QdrantShim, engine: SearchEngine) -> None:
    """Both connections are taken by searches that may take long; who has less time finds none free."""
    shim.fault = Fault(delay_s=30, path=QUERY, calls=None)
    holders = [asyncio.create_task(engine.search(timed(60))) for _ in range(2)]
    await asyncio.sleep(0)  # they have begun
    errors = await asyncio.gather(*(failure(engine, timed(0.2)) for _ in range(3)))
    assert {error.kind for error in errors} == {FailureKind.OVERLOADED}
    for holder in holders:
        holder.cancel()
    await asyncio.gather(*holders, return_exceptions=True)
    shim.fault = None
    assert len((await engine.search(ASKED)).hits) == 2


async def test_the_pool_is_bounded_and_kept_open(shim: QdrantShim, engine: SearchEngine) -> None:
    before = shim.connections
    await asyncio.gather(*(engine.search(ASKED) for _ in range(50)))
    assert shim.connections - before <= 2


@pytest.mark.parametrize("body", [b"not json", b"", b'{"result":', b"[]", b'{"result":{"points":[{"score":"x"}]}}'])
async def test_an_answer_that_can_not_be_read_is_the_servers_fault(
    shim: QdrantShim, engine: SearchEngine, body: bytes
) -> None:
    shim.fault = Fault(body=body or b" ", path=QUERY, calls=None)
    assert (await failure(engine)).kind is FailureKind.UNAVAILABLE


async def test_a_refused_connection_is_unavailable_and_not_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        backend = connect(ServerSettings(url=f"http://127.0.0.1:{taken.getsockname()[1]}"))
        for call in (backend.health(), backend.generations("acme", "docs"), backend.count(KEY)):
            with pytest.raises(SearchError) as raised:
                await call
            assert raised.value.kind is FailureKind.UNAVAILABLE
        await backend.close()


async def test_a_server_that_comes_back_is_searched_by_the_same_client(
    shim: QdrantShim, backend: ServerBackend, engine: SearchEngine
) -> None:
    """It comes back empty: what was indexed is missing, not an answer without hits."""
    shim.stop()
    assert (await failure(engine)).kind is FailureKind.UNAVAILABLE
    shim.start()
    assert (await failure(engine)).kind is FailureKind.NOT_FOUND
    await write(backend, KEY, [chunk("c1", 3)])
    assert [hit.chunk_id for hit in (await engine.search(ASKED)).hits] == ["c1"]


async def test_a_generation_deleted_by_another_process_is_missing_not_empty(
    shim: QdrantShim, backend: ServerBackend, engine: SearchEngine
) -> None:
    other = connect(ServerSettings(url=shim.url))
    assert await other.delete(KEY) == 2
    await other.close()
    assert (await failure(engine)).kind is FailureKind.NOT_FOUND
    with pytest.raises(SearchError) as raised:
        await backend.count(KEY)
    assert raised.value.kind is FailureKind.NOT_FOUND


async def test_a_filter_the_server_refuses_is_unsupported(shim: QdrantShim, engine: SearchEngine) -> None:
    """An older server knows no substrings; a strict one takes no filter without an index."""
    shim.fault = Fault(400, path=QUERY, calls=None)
    error = await failure(engine, request(condition=Leaf(field="lang", op=Op.CONTAINS, value="e")))
    assert error.kind is FailureKind.UNSUPPORTED_FILTER


async def test_scores_that_are_no_numbers_are_dropped_and_counted(shim: QdrantShim, engine: SearchEngine) -> None:
    """QDR-05, FUS-02: null, NaN and infinite scores, and hits without a chunk id; "0" is an id like any other."""
    listed = [("null", "n"), ("NaN", "x"), ("Infinity", "i"), ("0.9", ""), ("0.5", "b"), ("0.5", "0"), ("0.4", None)]
    points = ",".join(
        f'{{"id":{number},"version":0,"score":{score},"payload":{{"chunk_id":"{name}"}}}}'.replace('"None"', "null")
        for number, (score, name) in enumerate(listed)
    )
    shim.fault = Fault(body=f'{{"result":{{"points":[{points}]}},"status":"ok","time":0}}'.encode(), path=QUERY)
    result = await engine.search(ASKED)
    assert [(hit.chunk_id, hit.score) for hit in result.hits] == [("0", 0.5), ("b", 0.5)]
    assert (result.dropped, result.cut) == (5, None)


async def test_endless_ties_are_cut_and_named(
    shim: QdrantShim, engine: SearchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server whose hits all tie is not asked for ever more of them."""
    monkeypatch.setattr(qdrant_server_search, "MAX_ASKED", 250)
    point = '{"id":1,"version":0,"score":0.5,"payload":{"chunk_id":"a"}}'
    body = f'{{"result":{{"points":[{",".join([point] * 250)}]}},"status":"ok","time":0}}'
    shim.fault = Fault(body=body.encode(), path=QUERY, calls=None)
    result = await engine.search(ASKED)
    assert (len(result.hits), result.cut) == (100, "over 250 hits tie at the end of the window")


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
async def test_secrets_are_sent_and_never_told(shim: QdrantShim, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = ServerSettings(url=shim.url, username="u", password=SecretStr(SECRET), api_key=SecretStr(SECRET))
    backend = connect(settings)
    shim.fault = Fault(401)
    with pytest.raises(SearchError) as raised:
        await backend.health()
    assert raised.value.kind is FailureKind.CONFIG
    headers = shim.seen[-1].headers
    assert (headers["api-key"], headers["authorization"].startswith("Basic ")) == (SECRET, True)
    assert SECRET not in f"{raised.value!r} {settings!r} {caplog.text}"
    await backend.close()
