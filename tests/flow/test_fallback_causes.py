"""HEA-05: the other two causes of a lost vector lane: an embedder that hangs, and an engine that is gone.

The engine is really closed; the hanging embedder is a fake, for the real one computes in process and cannot hang.
"""

import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from fanfuse_backend_workers.adapters.embedded import engines_in, texts_in
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.ports import Embedder, SearchEngine
from fanfuse_backend_workers.service import build_with
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import FailureKind, FallbackReason, Kind, LaneOutcome, Stage, Status
from fanfuse_contracts.query import QueryVector
from fanfuse_runtime.context import Context
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_testing.flow import Flow, eventually, running_flow
from tests.flow.airships import FIELDS, QUESTION, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
BUDGET_MS = 1_000


@dataclass(slots=True)
class Faults:
    """What goes wrong in the workers."""

    fine: threading.Event = field(default_factory=threading.Event)
    """Unset: every call of the embedder hangs."""
    engines: list[SearchEngine] = field(default_factory=list)
    """Vector engines, as they were opened."""


class HangingEmbedder:
    """The real embedder, which gives no vector while `fine` is unset."""

    def __init__(self, embedder: Embedder, fine: threading.Event) -> None:
        self._embedder, self._fine = embedder, fine
        self.model, self.dimensions, self.languages = embedder.model, embedder.dimensions, embedder.languages

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self._fine.wait(30)
        return self._embedder.embed_query(text)


@dataclass(frozen=True, slots=True)
class Faulty:
    flow: Flow
    faults: Faults

    async def ask(self, text: str, **fields: QueryVector) -> Answer:
        async with self.flow.client(TENANT) as client:
            return await client.ask(text, graph_seeds=(), budget_ms=BUDGET_MS, **fields)  # type: ignore[arg-type]

    def counted(self, reason: FallbackReason) -> float:
        return self.flow.metric("fanfuse_bm25_fallback_total", reason=reason.value)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def faulty(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faulty]:
    folder = tmp_path_factory.mktemp("faulty")
    faults = Faults()
    faults.fine.set()
    with NatsServer(folder / "nats") as server:
        services = {Stage.BACKEND_WORKERS: lambda context: _workers(context, folder / "data", faults)}
        async with running_flow(server.url, folder / "data", services=services) as flow:
            await flow.index(TENANT, "docs", library(), FIELDS)
            yield Faulty(flow, faults)
            faults.fine.set()


def _workers(context: Context, data: Path, faults: Faults) -> Service:
    open_engine = engines_in(data)

    async def opened(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        engine = await open_engine(card, wiring)
        if wiring.kind is Kind.VECTOR:
            faults.engines.append(engine)
        return engine

    def load(spec: EmbedderSpec) -> Embedder | None:
        embedder = build_embedder(spec)
        return None if embedder is None else HangingEmbedder(embedder, faults.fine)

    return build_with(open_engine=opened, open_texts=texts_in(data), load_embedder=load)(context)


def vector_lane(answer: Answer) -> tuple[LaneOutcome, FailureKind | None]:
    (report,) = (report for report in answer.coverage.lanes if report.kind is Kind.VECTOR)
    return report.outcome, report.failure


async def test_an_embedder_that_hangs(faulty: Faulty) -> None:
    assert (await faulty.ask(QUESTION)).status is Status.COMPLETE
    faulty.faults.fine.clear()
    answer = await faulty.ask("Which module opens network connections?")
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, True)
    assert vector_lane(answer) == (LaneOutcome.FAILED, FailureKind.EMBEDDER)
    assert answer.bm25_fallback_reasons == (FallbackReason.EMBEDDER,)
    assert answer.elapsed_ms < 3 * BUDGET_MS
    assert faulty.counted(FallbackReason.EMBEDDER) == 1
    # The engine is healthy: a caller's own vector is searched.
    vector = QueryVector(model="all-MiniLM-L6-v2", values=(1.0, *(0.0,) * 383))
    assert vector_lane(await faulty.ask("Another text", vector=vector)) == (LaneOutcome.ANSWERED, None)
    faulty.faults.fine.set()

    async def is_whole() -> bool:
        answer = await faulty.ask("How are dates read?")
        return answer.status is Status.COMPLETE and not answer.bm25_fallback

    assert await eventually(is_whole)


async def test_an_engine_that_is_gone(faulty: Faulty) -> None:
    await faulty.faults.engines[-1].close()
    answer = await faulty.ask(QUESTION)
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, True)
    assert vector_lane(answer) == (LaneOutcome.FAILED, FailureKind.UNAVAILABLE)
    assert answer.bm25_fallback_reasons == (FallbackReason.FAILED,)
    assert faulty.counted(FallbackReason.FAILED) == 1
    # A new generation is a new engine; the window of health has too few failures to speak of.
    await faulty.flow.index(TENANT, "docs", library("again"), FIELDS)
    answer = await faulty.ask(QUESTION)
    assert (answer.status, answer.bm25_fallback) == (Status.COMPLETE, False)
    assert faulty.counted(FallbackReason.FAILED) == 1
