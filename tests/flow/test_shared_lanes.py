"""`fan_out: false` on real engines: one vector lane over several corpora finds exactly what separate lanes find.

Two corpora hold chunks of the same ids with other texts, a third is of another tenant.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fanfuse_backend_workers.adapters.embedded import engines_in, texts_in
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.ports import SearchEngine
from fanfuse_backend_workers.service import build_with
from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import ALL_CORPORA, CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, FallbackReason, Kind, LaneOutcome, Stage, Status
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_corpus_router.service import build as build_router
from fanfuse_runtime.context import Context
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_testing.flow import Flow, running_flow
from tests.flow.airships import FIELDS, QUESTION, library
from tests.flow.registered_cards import change, register, replies_of, with_shared

pytestmark = pytest.mark.asyncio(loop_scope="module")

OURS, THEIRS = "acme", "globex"
MARKS = {"guide": "heliotrope", "manual": "vermilion", "notes": "ochre"}
"""Our corpora, with a word in each text of theirs."""
WINDOW = 10


@dataclass(frozen=True, slots=True)
class Shared:
    flow: Flow
    engines: dict[str, SearchEngine] = field(default_factory=dict)
    """Our vector engines by corpus, as they were opened last."""

    async def ask(self, query_id: str, text: str = QUESTION, **fields: Any) -> Answer:
        stated: dict[str, Any] = {"graph_seeds": (), "window": WINDOW, "budget_ms": 20_000} | fields
        async with self.flow.client(OURS) as client:
            return await client.ask(text, query_id=query_id, **stated)

    async def vector_hits(self, query_id: str, **fields: Any) -> list[LaneHit]:
        """What the vector lane of this query replied."""
        answer = await self.ask(query_id, **fields)
        report = vector_lane(answer)
        assert report.lane is not None
        return list((await replies_of(self.flow, OURS, query_id, answer.coverage.expected))[report.lane].hits)


def vector_lane(answer: Answer) -> LaneReport:
    (report,) = (report for report in answer.coverage.lanes if report.kind is Kind.VECTOR)
    return report


def _router(context: Context) -> Service:
    config = FanfuseConfig.model_validate({"retrieval": {"routing": {"fan_out": False}}})
    return build_router(replace(context, config=config))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    folder = tmp_path_factory.mktemp("shared")
    engines: dict[str, SearchEngine] = {}
    with NatsServer(folder / "nats") as server:
        services = {
            Stage.CORPUS_ROUTER: _router,
            Stage.BACKEND_WORKERS: lambda context: _workers(context, folder / "data", engines),
        }
        async with running_flow(server.url, folder / "data", services=services) as flow:
            for tenant, corpora in ((OURS, MARKS), (THEIRS, {"guide": "cinnabar", "plans": "cinnabar"})):
                for corpus, mark in corpora.items():
                    indexed = await flow.index(tenant, corpus, library(mark), FIELDS)
                    await change(flow, tenant, corpus, backends=with_shared(indexed.card))
            yield Shared(flow, engines)


def _workers(context: Context, data: Path, engines: dict[str, SearchEngine]) -> Service:
    open_engine = engines_in(data)

    async def opened(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        engine = await open_engine(card, wiring)
        if (card.tenant, wiring.kind) == (OURS, Kind.VECTOR):
            engines[card.corpus] = engine
        return engine

    return build_with(open_engine=opened, open_texts=texts_in(data), load_embedder=build_embedder)(context)


async def test_one_lane_finds_what_separate_lanes_find(shared: Shared) -> None:
    """The merged list is exact: same documents, same scores, in the order of score, corpus and chunk id."""
    together = await shared.vector_hits("together")
    assert {hit.corpus for hit in together} == set(MARKS)
    apart = [
        (hit.score, corpus, hit.chunk_id)
        for corpus in MARKS
        for hit in await shared.vector_hits(f"only-{corpus}", corpora=(corpus,))
    ]
    expected = sorted(apart, key=lambda row: (-row[0], row[1], row[2]))[:WINDOW]
    assert [(hit.score, hit.corpus, hit.chunk_id) for hit in together] == expected
    assert [hit.rank for hit in together] == list(range(1, WINDOW + 1))


async def test_the_answer_names_the_lane_s_corpora_and_each_hit_has_its_own_text(shared: Shared) -> None:
    """FUS-11: equal chunk ids of two corpora are two hits; keyword lanes stay one per corpus."""
    answer = await shared.ask("texts", top_k=WINDOW)
    assert (answer.status, answer.missing_texts) == (Status.COMPLETE, ())
    assert answer.corpus_decision is not None
    assert not answer.corpus_decision.fan_out
    lanes = sorted((one.corpus, one.kind.value, one.corpora) for one in answer.coverage.lanes if one.lane)
    assert lanes == sorted(
        [(ALL_CORPORA, "vector", tuple(sorted(MARKS)))] + [(corpus, "keyword", ()) for corpus in MARKS]
    )
    assert len({(hit.corpus, hit.chunk_id) for hit in answer.hits}) == len(answer.hits) == WINDOW
    assert len({hit.chunk_id for hit in answer.hits}) < WINDOW
    for hit in answer.hits:
        assert hit.text is not None
        assert [mark for mark in (*MARKS.values(), "cinnabar") if mark in hit.text] == [MARKS[hit.corpus]]


async def test_a_filter_holds_in_every_corpus_of_the_lane(shared: Shared) -> None:
    """The reply attests it for all of them; a lane that applied less would not be fused."""
    found = await shared.vector_hits("filtered", filter=Leaf(field="topic", op=Op.EQ, value="network"))
    assert {(hit.corpus, hit.chunk_id) for hit in found} == {(c, i) for c in MARKS for i in ("asyncio", "socket")}


async def test_a_single_corpus_is_an_ordinary_lane(shared: Shared) -> None:
    answer = await shared.ask("single", corpora=("guide",))
    report = vector_lane(answer)
    assert (report.corpus, report.corpora, answer.status) == ("guide", (), Status.COMPLETE)
    assert answer.corpus_decision is not None
    assert not answer.corpus_decision.fan_out


async def test_with_fan_out_each_corpus_has_its_lanes(shared: Shared, tmp_path: Path) -> None:
    """The same cards and indexes under the default configuration."""
    cards = [card for card in await shared.flow.operator.cards() if card.tenant == OURS]
    with NatsServer(tmp_path / "nats") as server:
        async with running_flow(server.url, shared.flow.data_dir) as flow:
            for card in cards:
                await register(flow, card)
            answer = await Shared(flow).ask("apart", top_k=WINDOW)
    assert answer.status is Status.COMPLETE
    lanes = {(one.corpus, one.kind.value, one.corpora) for one in answer.coverage.lanes if one.lane}
    assert lanes == {(corpus, kind, ()) for corpus in MARKS for kind in ("vector", "keyword")}
    assert answer.corpus_decision is not None
    assert answer.corpus_decision.fan_out


async def test_a_lane_that_is_wired_as_shared_and_cannot_be_is_named(shared: Shared) -> None:
    """BM25 scores of two corpora do not compare: the lane fails and says so, and no wrong order is fused."""
    cards = [card for card in await shared.flow.operator.cards() if card.tenant == OURS]
    for card in cards:
        await change(shared.flow, OURS, card.corpus, backends=with_shared(card, (Kind.VECTOR, Kind.KEYWORD)))
    answer = await shared.ask("bm25")
    (report,) = (one for one in answer.coverage.lanes if one.kind is Kind.KEYWORD)
    assert (report.corpus, report.outcome, report.failure) == (ALL_CORPORA, LaneOutcome.FAILED, FailureKind.CONFIG)
    assert "cannot be compared" in report.reason
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, False)
    for card in cards:
        await register(shared.flow, card)
    assert (await shared.ask("bm25-again")).status is Status.COMPLETE


async def test_a_lost_shared_lane_is_a_fallback_of_each_of_its_corpora(shared: Shared) -> None:
    """HEA-05: the index of one corpus is gone; the lane says which, and every corpus of it has keyword lanes only."""
    await shared.engines["manual"].close()
    answer = await shared.ask("lost", text="Which module opens network connections?")
    report = vector_lane(answer)
    assert (report.outcome, report.failure) == (LaneOutcome.FAILED, FailureKind.UNAVAILABLE)
    assert report.reason.startswith("corpus 'manual': ")
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, True)
    assert set(answer.bm25_fallback_corpora) == set(MARKS)
    assert answer.bm25_fallback_reasons == (FallbackReason.FAILED,)
    assert answer.unconfirmed == ()
