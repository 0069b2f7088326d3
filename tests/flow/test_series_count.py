"""The number of series depends on what is wired and configured, not on what is asked.

5,000 queries of 1,000 tenants through all five services, a part of them failing with 200 different error texts.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchError, SearchRequest
from fanfuse_backend_workers.service import build_with
from fanfuse_contracts import subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, Kind, Stage
from fanfuse_contracts.filters import Op
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.retrieval import ChunkText
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import Flow, running_flow

pytestmark = [pytest.mark.nightly, pytest.mark.asyncio(loop_scope="module")]

QUERIES, TENANTS, ERROR_TEXTS, AT_ONCE = 5_000, 1_000, 200, 100
PARTS = 5
FAULTS = tuple(kind for kind in FailureKind if not kind.counts_against_backend)


class ScriptedEngine:
    """Every fourth query fails with a text of its own; the rest finds the same chunk."""

    operators: frozenset[Op] = frozenset()

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    async def search(self, request: SearchRequest) -> EngineResult:
        number = int(request.text.rsplit(" ", 1)[1])
        if number % 4 == 0 and self.kind is Kind.GRAPH:
            fault = FAULTS[number % len(FAULTS)]
            raise SearchError(fault, f"error text {number // 4 % ERROR_TEXTS}")
        return EngineResult((EngineHit("one", 1.0, "hash"),))

    async def count(self) -> int:
        return 1

    async def close(self) -> None:
        return None


class OneText:
    async def get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        return [ChunkText(chunk_id=each, text="text") for each in chunk_ids]

    async def close(self) -> None:
        return None


async def _opened(_card: CorpusCard, wiring: Wiring) -> ScriptedEngine:
    return ScriptedEngine(wiring.kind)


async def _texts(_card: CorpusCard) -> OneText:
    return OneText()


def card_of(tenant: str) -> CorpusCard:
    wired = (Wiring(kind=kind, backend="main", pool="main") for kind in (Kind.KEYWORD, Kind.GRAPH))
    return CorpusCard(tenant=tenant, corpus="docs", public=True, generation="g1", backends=tuple(wired))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def crowded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Flow]:
    """A corpus for each of the tenants."""
    folder: Path = tmp_path_factory.mktemp("crowded")
    workers = build_with(open_engine=_opened, open_texts=_texts, load_embedder=build_embedder)
    with NatsServer(folder / "nats") as server:
        async with running_flow(server.url, folder / "data", services={Stage.BACKEND_WORKERS: workers}) as flow:
            revisions = [await flow.operator.put_card(card_of(f"tenant-{n}"), 0) for n in range(TENANTS)]
            assert await flow.operator.wait_applied(max(revisions), 60.0) == ()
            yield flow


async def ask(flow: Flow, first: int, count: int) -> Counter[str]:
    """Ask so many queries of as many tenants; returns the lane failures that their answers tell, by text."""
    told: Counter[str] = Counter()
    heard = asyncio.Semaphore(0)

    async def hear(msg: Msg) -> None:
        told.update(lane.reason for lane in Answer.from_json(msg.data).coverage.lanes if lane.failure)
        heard.release()

    nc = flow.operator.bus.nc
    subscription = await nc.subscribe(subjects.QUERY_ANSWERED, cb=hear)
    await nc.flush()
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        body = SubmittedQuery(
            text=f"what is {number}", graph_seeds=("x",), principal=Principal(id=f"u{number}"), budget_ms=30_000
        )
        async with room:
            await flow.operator.bus.js.publish(
                subjects.query_submitted(f"tenant-{number % TENANTS}", f"q{number}"), body.to_json()
            )
            await heard.acquire()

    await asyncio.gather(*(one(number) for number in range(first, first + count)))
    await subscription.unsubscribe()
    return told


def series(flow: Flow) -> int:
    return sum(len(family.samples) for family in flow.process.metrics.registry.collect())


@dataclass(slots=True)
class Counts:
    before: int
    told: Counter[str] = field(default_factory=Counter)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def counts(crowded: Flow) -> Counts:
    await asyncio.sleep(2.5)  # health has exported every queue once
    return Counts(series(crowded))


@pytest.mark.parametrize("part", range(PARTS))
async def test_queries_make_no_series(crowded: Flow, counts: Counts, say: Callable[[str], None], part: int) -> None:
    counts.told += await ask(crowded, part * QUERIES // PARTS, QUERIES // PARTS)
    assert series(crowded) == counts.before
    if part == PARTS - 1:
        texts = {reason for reason in counts.told if reason.startswith("error text")}
        say(
            f"series before {counts.before}, after {QUERIES} queries of {TENANTS} tenants, {len(texts)} error texts "
            f"{series(crowded)}"
        )
        assert len(texts) == ERROR_TEXTS
        assert crowded.metric("fanfuse_queries_total") >= QUERIES
