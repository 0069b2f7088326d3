"""Nine real corpora behind one router: who is asked, how sure it is, and what that does to the answers.

Fitted on the training queries; the test queries are only measured on. Every query goes through the bus, with keyword
lanes alone: without a pin (learned), pinned to its labelled corpus (oracle), and to one index of everything (merged).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ir_measures
import pytest
import pytest_asyncio
from ir_measures import nDCG

from fanfuse_all_in_one.switching import switch_to
from fanfuse_backend_workers.adapters.embedded import index_builder
from fanfuse_backend_workers.generations import CorpusName, build_generation
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, Status, Strategy
from fanfuse_contracts.plan import CorpusRoutingDecision
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.collections import RoutingQuery, load_collection, load_routing, routing_file
from fanfuse_testing.flow import Flow, running_flow, sample_chunk
from fanfuse_training.fit import FitReport, fit_profile

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

MERGED = "everything"
ORACLE_EVERY = 4


@dataclass(frozen=True, slots=True)
class Federation:
    """Queries and their fitted profile, and a flow where tenant `apart` has a corpus per collection, `merged` one."""

    flow: Flow
    queries: tuple[RoutingQuery, ...]
    report: FitReport
    shared: Path


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def federation(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Federation]:
    folder = tmp_path_factory.mktemp("federation")
    report = await asyncio.to_thread(fit_profile, routing_file("train", shared), test=routing_file("test", shared))
    report.write_profile(folder / "profile.json")
    config = folder / "fanfuse.yaml"
    config.write_text("retrieval:\n  routing:\n    profile: profile.json\n", encoding="utf-8")
    names = report.profile.model.corpora
    with NatsServer(folder / "nats") as server:
        async with running_flow(server.url, folder / "data", config_file=config) as flow:
            for name in names:
                await index(flow, CorpusName("apart", name), chunks(shared, [name]))
            await index(flow, CorpusName("merged", MERGED), chunks(shared, names))
            yield Federation(flow, load_routing("test", shared), report, shared)


def chunks(shared: Path, names: Sequence[str]) -> Iterator[Chunk]:
    """Documents with ids that are unique over all collections."""
    for name in names:
        for document in load_collection(name, shared).documents:
            text = f"{document.title} {document.text}".strip() or "-"
            yield sample_chunk(f"{name}/{document.document_id}", text, title=document.title[:200])


async def index(flow: Flow, name: CorpusName, source: Iterator[Chunk]) -> None:
    """Build the keyword index alone: nothing is embedded."""
    builders = [index_builder(Kind.KEYWORD)]
    built = await asyncio.to_thread(build_generation, flow.data_dir, name, "g1", source, builders)
    wiring = Wiring(kind=Kind.KEYWORD, backend="main", pool="main")
    card = CorpusCard(
        tenant=name.tenant, corpus=name.corpus, backends=(wiring,), generation=built.generation, chunks=built.chunks
    )
    await switch_to(flow.operator, flow.data_dir, card, await flow.operator.card(*name))


async def ask(federation: Federation, tenant: str, every: int = 1, *, pinned: bool = False) -> list[Answer]:
    """The answers to every so many queries, in their order. `pinned`: to the labelled corpus."""
    queries = federation.queries[::every]
    asked = (
        (
            f"{tenant}-{'pinned' if pinned else 'free'}-{number}",
            SubmittedQuery(
                text=query.text, corpora=(query.corpus,) if pinned else None, include_text=False, budget_ms=30_000
            ),
        )
        for number, query in enumerate(queries)
    )
    async with federation.flow.client(tenant) as client:
        answers = {int(key.rpartition("-")[2]): answer async for key, answer in client.stream(asked, concurrency=8)}
    assert {answer.status for answer in answers.values()} == {Status.COMPLETE}
    return [answers[number] for number in range(len(queries))]


def quality(federation: Federation, answers: Sequence[Answer], every: int = 1) -> float:
    """nDCG@10 by the judgements of each query's own collection."""
    judged, found = [], []
    for number, (query, answer) in enumerate(zip(federation.queries[::every], answers, strict=True)):
        grades = load_collection(query.corpus, federation.shared).qrels[query.query_id]
        judged += [ir_measures.Qrel(str(number), f"{query.corpus}/{document}", g) for document, g in grades.items()]
        found += [ir_measures.ScoredDoc(str(number), hit.chunk_id, -hit.rank) for hit in answer.hits]
    (value,) = ir_measures.calc_aggregate([nDCG @ 10], judged, found).values()
    return float(value)


def decisions(answers: Sequence[Answer]) -> list[CorpusRoutingDecision]:
    return [answer.corpus_decision for answer in answers if answer.corpus_decision is not None]


async def test_the_labelled_corpus_comes_first_and_probabilities_are_true(
    federation: Federation, say: Callable[[str], None]
) -> None:
    figures = federation.report.held_out
    for line in federation.report.lines():
        say(line)

    assert figures.queries == len(federation.queries)
    assert figures.accuracy_1 >= 0.96
    assert figures.accuracy_3 >= 0.99
    assert figures.calibration_error <= 0.03
    assert min(language.accuracy_1 for language in figures.languages.values()) >= 0.9


async def test_learned_routing_beats_one_merged_index(federation: Federation, say: Callable[[str], None]) -> None:
    free, pinned, single = (
        await ask(federation, "apart"),
        await ask(federation, "apart", ORACLE_EVERY, pinned=True),
        await ask(federation, "merged"),
    )
    learned, merged = quality(federation, free), quality(federation, single)
    oracle, beside = quality(federation, pinned, ORACLE_EVERY), quality(federation, free[::ORACLE_EVERY], ORACLE_EVERY)
    corpora = sum(len(decision.selected_corpora) for decision in decisions(free)) / len(free)
    say(
        f"federated nDCG@10 of {len(free)} queries: learned {learned:.4f} ({corpora:.2f} corpora a query), "
        f"merged {merged:.4f}; of {len(pinned)} the oracle {oracle:.4f}, learned {beside:.4f}"
    )

    assert [decision.strategy for decision in decisions(free)] == [Strategy.LEARNED] * len(free)
    assert [decision.selected_corpora for decision in decisions(pinned)] == [
        (q.corpus,) for q in federation.queries[::ORACLE_EVERY]
    ]
    assert learned >= 0.42
    assert learned > merged
