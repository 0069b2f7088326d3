"""Corpora on servers, seen from a worker: opened when that is possible, texts from whoever has them, one client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fanfuse_backend_workers import remote
from fanfuse_backend_workers.connections import Connections, unhealthy
from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.ports import SearchEngine, SearchError, SearchRequest, TextStore
from fanfuse_backend_workers.remote import engines_on, texts_on
from fanfuse_backend_workers.servers import ServerBackend
from fanfuse_contracts.backends import BackendConfig, BackendsConfig
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.retrieval import ChunkText
from fanfuse_runtime.configfile import ConfigError
from tests.unit.backend_workers.server_fake import FakeServer

KEYWORD = Wiring(kind=Kind.KEYWORD, backend="eu", pool="p")
VECTOR = Wiring(kind=Kind.VECTOR, backend="main", pool="main")
GRAPH = Wiring(kind=Kind.GRAPH, backend="main", pool="main")
CARD = CorpusCard(tenant="acme", corpus="docs", generation="g1", backends=(GRAPH, KEYWORD, VECTOR))
BACKENDS = BackendsConfig.model_validate(
    {
        "keyword": {"eu": {"engine": "elasticsearch", "url": "http://h", "pool": "p"}, "x": {}},
        "vector": {"main": {"engine": "qdrant", "url": "http://h"}},
    }
)
ASKED = SearchRequest("acme", "docs", "words", 5, 1.0)


class World:
    """Servers by their key in the file; `absent` have no client here."""

    def __init__(self) -> None:
        self.servers = {"backends.keyword.eu": FakeServer(), "backends.vector.main": FakeServer(Kind.VECTOR)}
        self.connected: list[str] = []
        self.absent: set[str] = set()
        self.connections = Connections(BACKENDS, self.connect)

    def connect(self, where: str, config: BackendConfig) -> ServerBackend:
        if where in self.absent:
            raise ConfigError(f"{where}: no library")
        self.connected.append(where)
        return self.servers[where]

    @property
    def keyword(self) -> FakeServer:
        return self.servers["backends.keyword.eu"]

    @property
    def vector(self) -> FakeServer:
        return self.servers["backends.vector.main"]


@pytest.fixture
def world() -> World:
    return World()


async def embedded(_card: CorpusCard, wiring: Wiring) -> SearchEngine:
    raise SearchError(FailureKind.NOT_FOUND, f"embedded {wiring.kind.value}")


async def open_keyword(world: World) -> SearchEngine:
    return await engines_on(world.connections, embedded)(CARD, KEYWORD)


async def test_each_server_has_one_client_and_all_are_closed(world: World) -> None:
    open_engine = engines_on(world.connections, embedded)
    for corpus in "abc":
        card = CARD.model_copy(update={"corpus": corpus})
        await open_engine(card, KEYWORD)
        await open_engine(card, VECTOR)
    assert world.connected == ["backends.keyword.eu", "backends.vector.main"]
    world.keyword.failures["close"] = [SearchError(FailureKind.UNAVAILABLE, "it is gone")]
    await world.connections.close()
    await world.connections.close()
    assert (world.keyword.calls["close"], world.vector.calls["close"]) == (1, 1)


async def test_a_backend_that_is_no_server_is_the_embedded_engine(world: World) -> None:
    for wiring in (GRAPH, Wiring(kind=Kind.KEYWORD, backend="x", pool="x")):
        with pytest.raises(SearchError, match=f"embedded {wiring.kind.value}"):
            await engines_on(world.connections, embedded)(CARD, wiring)
    assert world.connected == []


async def test_only_the_servers_of_a_workers_pools_are_connected_and_one_without_client_stops_it(world: World) -> None:
    world.absent.add("backends.vector.main")
    assert [str(server.key) for server in world.connections.of_pools([Pool(Kind.KEYWORD, "p")])] == ["keyword/eu"]
    with pytest.raises(ConfigError, match=r"backends\.vector\.main: no library"):
        world.connections.of_pools([Pool(Kind.VECTOR, "main")])
    with pytest.raises(SearchError, match="no library") as refused:
        await engines_on(world.connections, embedded)(CARD, VECTOR)
    assert refused.value.kind is FailureKind.CONFIG


async def test_a_server_that_is_down_is_served_unopened_and_found_by_the_first_search_after(world: World) -> None:
    world.keyword.down = True
    engine = await open_keyword(world)
    for _ in range(2):
        with pytest.raises(SearchError, match="it is down") as failed:
            await engine.search(ASKED)
        assert failed.value.kind.counts_against_backend
    world.keyword.down = False
    assert [hit.chunk_id for hit in (await engine.search(ASKED)).hits] == ["g1"]
    assert await engine.count() == CARD.chunks
    opened = world.keyword.calls["open"]
    await asyncio.gather(*(engine.search(ASKED) for _ in range(8)))
    assert world.keyword.calls["open"] == opened


async def test_a_server_that_hangs_does_not_hold_back_a_new_generation(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "OPEN_WITHIN_S", 0.01)

    async def hang(_card: CorpusCard) -> SearchEngine:
        await asyncio.sleep(60)
        raise AssertionError("never reached")

    monkeypatch.setattr(world.keyword, "open", hang)
    engine = await open_keyword(world)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await engine.search(ASKED)
    monkeypatch.undo()
    assert (await engine.search(ASKED)).hits


async def test_a_corpus_without_an_index_is_not_found(world: World) -> None:
    with pytest.raises(SearchError) as refused:
        await engines_on(world.connections, embedded)(CARD.model_copy(update={"generation": None}), KEYWORD)
    assert refused.value.kind is FailureKind.NOT_FOUND


async def test_closing_a_generation_leaves_the_client_open(world: World) -> None:
    engine = await open_keyword(world)
    await engine.close()
    assert world.keyword.calls["close"] == 0


class LocalTexts:
    async def get(self, chunk_ids: Any) -> list[ChunkText]:
        return []

    async def close(self) -> None:
        return


def local(error: FailureKind | None = None) -> Callable[[CorpusCard], Awaitable[TextStore]]:
    async def open_texts(_card: CorpusCard) -> TextStore:
        if error is not None:
            raise SearchError(error, "not here")
        return LocalTexts()

    return open_texts


async def test_texts_are_those_of_the_data_directory_where_it_has_them(world: World) -> None:
    assert isinstance(await texts_on(world.connections, local())(CARD), LocalTexts)
    assert world.connected == []


async def test_texts_come_from_the_first_server_that_gives_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = await texts_on(world.connections, local(FailureKind.NOT_FOUND))(CARD)
    assert [found.text for found in await texts.get(["a"])] == ["text of a"]
    assert (world.keyword.calls["texts"], world.vector.calls["texts"]) == (1, 0)

    world.keyword.down = True
    assert [found.text for found in await texts.get(["b"])] == ["text of b"]
    world.vector.failures["texts"] = [SearchError(FailureKind.OVERLOADED, "busy")]
    with pytest.raises(SearchError, match="it is down"):
        await texts.get(["c"])
    await texts.close()


async def test_a_server_without_client_here_gives_no_texts_and_stops_nobody(world: World) -> None:
    world.absent.add("backends.keyword.eu")
    texts = await texts_on(world.connections, local(FailureKind.NOT_FOUND))(CARD)
    assert len(await texts.get(["a"])) == 1
    world.absent.add("backends.vector.main")
    other = Connections(BACKENDS, world.connect)
    with pytest.raises(SearchError, match="not here"):
        await texts_on(other, local(FailureKind.NOT_FOUND))(CARD)


@pytest.mark.parametrize(
    ("error", "card"),
    [(FailureKind.CONFIG, CARD), (FailureKind.NOT_FOUND, CARD.model_copy(update={"generation": None}))],
)
async def test_other_failures_of_the_data_directory_are_not_hidden(
    world: World, error: FailureKind, card: CorpusCard
) -> None:
    with pytest.raises(SearchError, match="not here"):
        await texts_on(world.connections, local(error))(card)


async def test_what_keeps_a_server_from_being_used_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (_, server) = world.connections.all()
    assert await unhealthy(server, 1.0) is None
    world.keyword.down = True
    assert await unhealthy(server, 1.0) == "unavailable: it is down"

    async def hang() -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(world.keyword, "health", hang)
    assert await unhealthy(server, 0.01) == "no answer within 0 s"
