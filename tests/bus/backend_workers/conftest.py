"""Workers on the real bus with engines that a test slows down or breaks."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import nats
import pytest
from nats.aio.client import Client

from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.ports import (
    Embedder,
    EngineHit,
    EngineResult,
    SearchEngine,
    SearchError,
    SearchRequest,
    TextStore,
)
from fanfuse_backend_workers.service import build_with
from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import Op
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import ChunkText, LaneReply
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings

PATIENCE_S = 30.0
KEYWORD = Pool(Kind.KEYWORD, "main")


async def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.005)


Behaviour = Callable[["FakeEngine", SearchRequest], Awaitable[EngineResult]]


async def two_hits(engine: "FakeEngine", _request: SearchRequest) -> EngineResult:
    return EngineResult(tuple(EngineHit(f"{engine.generation}-{i}", 2.0 - i, f"hash{i}", f"Title {i}") for i in (0, 1)))


@dataclass
class FakeEngine:
    world: "World"
    kind: Kind
    generation: str
    operators: frozenset[Op] = frozenset()
    closed: bool = False

    async def search(self, request: SearchRequest) -> EngineResult:
        assert not self.closed, "searched after it was closed"
        self.world.searches.append(request)
        self.world.running += 1
        self.world.most_running = max(self.world.most_running, self.world.running)
        try:
            result = await self.world.behaviour(self, request)
        finally:
            self.world.running -= 1
        assert not self.closed, "closed while it was searching"
        return result

    async def count(self) -> int:
        return 2

    async def close(self) -> None:
        self.closed = True


@dataclass
class FakeTexts:
    chunks: dict[str, str]
    closed: bool = False

    async def get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        return [ChunkText(chunk_id=i, text=self.chunks[i], source="a.md") for i in chunk_ids if i in self.chunks]

    async def close(self) -> None:
        self.closed = True


@dataclass
class FakeEmbedder:
    world: "World"
    model: str = "tiny"
    dimensions: int = 3
    languages: tuple[str, ...] | None = None

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.world.embedded[text] += 1
        if self.world.embedder_sleeps_s:
            time.sleep(self.world.embedder_sleeps_s)
        if self.world.embedder_error is not None:
            raise self.world.embedder_error
        return [1.0, 0.0, 0.0]


@dataclass
class World:
    """What the fakes do and what they saw."""

    behaviour: Behaviour = two_hits
    searches: list[SearchRequest] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    opened: list[FakeEngine] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    """Generations whose directory does not exist."""
    opening_s: float = 0.0
    texts: dict[str, str] = field(default_factory=dict)
    embedded: Counter[str] = field(default_factory=Counter)
    embedder_sleeps_s: float = 0.0
    embedder_error: Exception | None = None

    async def open_engine(self, card: CorpusCard, wiring: Wiring) -> SearchEngine:
        if card.generation is None or card.generation in self.missing:
            raise SearchError(FailureKind.NOT_FOUND, f"no complete index in {card.generation}: index the corpus")
        await asyncio.sleep(self.opening_s)
        engine = FakeEngine(self, wiring.kind, card.generation)
        self.opened.append(engine)
        return engine

    async def open_texts(self, card: CorpusCard) -> TextStore:
        if card.generation in self.missing:
            raise SearchError(FailureKind.NOT_FOUND, "no texts")
        return FakeTexts(self.texts)

    def load_embedder(self, _spec: EmbedderSpec) -> Embedder:
        return FakeEmbedder(self)

    def forget(self) -> None:
        """Forget what warming up did."""
        self.searches.clear()
        self.embedded.clear()
        self.most_running = 0


def card(corpus: str = "docs", generation: str | None = "g1", **changes) -> CorpusCard:
    fields = {
        "tenant": "acme",
        "corpus": corpus,
        "generation": generation,
        "embedder": EmbedderSpec(model="tiny", dimensions=3),
        "backends": tuple(Wiring(kind=kind, backend="main", pool="main") for kind in Kind),
    }
    return CorpusCard(**{**fields, **changes})


@dataclass
class Caller:
    """Stands for router and fuser: publishes commands, hears stored replies, writes cards."""

    nc: Client
    replies: dict[str, list[LaneReply]] = field(default_factory=dict)
    listening: bool = False

    card = staticmethod(card)
    until = staticmethod(until)

    async def listen(self) -> None:
        """Hear every stored reply; once."""
        if self.listening:
            return
        self.listening = True

        async def on_reply(msg) -> None:
            reply = LaneReply.from_json(msg.data)
            self.replies.setdefault(reply.query_id, []).append(reply)

        await self.nc.subscribe(subjects.LIVE_RETRIEVED, cb=on_reply)
        await self.nc.flush()

    async def put(self, corpus_card: CorpusCard) -> int:
        bucket = await self.nc.jetstream().key_value(streams.CORPORA.name)
        return await bucket.put(streams.corpus_key(corpus_card.tenant, corpus_card.corpus), corpus_card.to_json())

    async def remove(self, corpus: str) -> None:
        bucket = await self.nc.jetstream().key_value(streams.CORPORA.name)
        await bucket.delete(streams.corpus_key("acme", corpus))

    def command(self, query_id: str, **changes) -> RetrieveCommand:
        corpus, kind = changes.get("corpus", "docs"), changes.get("kind", Kind.KEYWORD)
        fields = {
            "tenant": "acme",
            "query_id": query_id,
            "lane": f"{corpus}-{kind.value}",
            "corpus": corpus,
            "kind": kind,
            "backend": "main",
            "text": "hello",
            "window": 10,
            "filter_digest": "not-copied",
            "submitted_ns": time.time_ns(),
            "budget_ms": 5_000,
        }
        return RetrieveCommand(**{**fields, **changes})

    async def send(self, command: RetrieveCommand, pool: str = "main") -> None:
        subject = subjects.retrieve(command.kind, pool, command.tenant, command.corpus)
        message_id = streams.message_id(command.tenant, command.query_id, "retrieve", command.lane, command.attempt)
        await self.nc.jetstream().publish(subject, command.to_json(), headers={"Nats-Msg-Id": message_id})

    async def reply(self, query_id: str) -> LaneReply:
        await until(lambda: query_id in self.replies, f"a reply of {query_id}")
        return self.replies[query_id][0]

    async def ask(self, query_id: str, **changes) -> LaneReply:
        await self.send(self.command(query_id, **changes))
        return await self.reply(query_id)

    async def waiting(self) -> int:
        """Commands that are not acknowledged yet."""
        return (await self.nc.jetstream().stream_info(streams.RETRIEVE.name)).state.messages

    async def served(self, process: Process, corpus_card: CorpusCard) -> None:
        """Write a card and return when the workers of `process` serve it, or have failed to."""
        revision = await self.put(corpus_card)
        applied = process.services[0].applied_revision
        assert applied is not None
        await until(lambda: applied() >= revision, f"revision {revision} is applied")

    async def drained(self) -> None:
        """Return when every command is acknowledged."""
        deadline = time.monotonic() + PATIENCE_S
        while await self.waiting():
            assert time.monotonic() < deadline, "commands are not acknowledged"
            await asyncio.sleep(0.01)

    async def outcomes(self) -> list[bytes]:
        """What health was told, once every command is acknowledged."""
        await self.drained()
        js = self.nc.jetstream()
        info = await js.stream_info(streams.OUTCOMES.name)
        stored = range(info.state.first_seq, info.state.last_seq + 1) if info.state.messages else ()
        return [(await js.get_msg(streams.OUTCOMES.name, seq)).data or b"" for seq in stored]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def caller(nats_server: NatsServer) -> AsyncIterator[Caller]:
    client = await nats.connect(nats_server.url)
    yield Caller(client)
    await client.close()


@pytest.fixture
def run_workers(nats_server: NatsServer, world: World, caller: Caller):
    """`async with run_workers(...) as process`: workers on the fakes, with the caller listening."""

    @asynccontextmanager
    async def run(
        *, pools: tuple[Pool, ...] = (KEYWORD,), drain_timeout_s: float = 5.0, **settings
    ) -> AsyncIterator[Process]:
        factory = build_with(
            open_engine=world.open_engine,
            open_texts=world.open_texts,
            load_embedder=world.load_embedder,
            settings=WorkerSettings(pools=pools, **settings),
        )
        runtime = RuntimeSettings(nats_url=nats_server.url, drain_timeout_s=drain_timeout_s)
        async with compose(factory, settings=runtime) as process:
            await caller.listen()
            yield process

    return run


@pytest.fixture
async def keyword_worker(run_workers, caller: Caller, world: World) -> AsyncIterator[Process]:
    """A keyword worker that serves the corpus `docs`."""
    async with run_workers() as process:
        await caller.put(card())
        await until(lambda: world.opened, "the corpus is open")
        yield process
