"""Real collections, every query through the bus: the fused order against an independent reference, and its quality.

The lane lists are those the workers published; the reference (tests/reference) imports nothing of the fuser.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from math import isclose
from pathlib import Path

import ir_measures
import pytest
from ir_measures import nDCG
from nats.aio.msg import Msg

from fanfuse_contracts import subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import Kind, LaneOutcome, Status
from fanfuse_contracts.query import QueryVector, SubmittedQuery
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_testing.collections import Collection, load_collection
from fanfuse_testing.flow import Flow, eventually, sample_chunk
from tests.reference import policies

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "science"
GAPS = frozenset({LaneOutcome.FAILED, LaneOutcome.LATE, LaneOutcome.CUT, LaneOutcome.SKIPPED_UNHEALTHY})
Lanes = dict[str, dict[str, LaneReply]]
"""Query id → lane → reply."""


def chunks(collection: Collection) -> Iterator[Chunk]:
    for document in collection.documents:
        vector = tuple(collection.document_vectors[document.document_id].tolist())
        text = f"{document.title} {document.text}".strip() or "-"
        yield sample_chunk(document.document_id, text, title=document.title[:200], vector=vector)


def queries(collection: Collection) -> Iterator[tuple[str, SubmittedQuery]]:
    for key, text in collection.queries.items():
        yield (
            f"{collection.name}-{key}",
            SubmittedQuery(
                text=text,
                corpora=(collection.name,),
                top_k=100,
                include_text=False,
                budget_ms=20_000,
                vector=QueryVector(model="all-MiniLM-L6-v2", values=tuple(collection.query_vectors[key].tolist())),
            ),
        )


@asynccontextmanager
async def lane_replies(flow: Flow) -> AsyncIterator[Lanes]:
    """Every lane reply that the server republishes during the block."""
    heard: Lanes = defaultdict(dict)

    async def hear(msg: Msg) -> None:
        reply = LaneReply.from_json(msg.data)
        heard[reply.query_id][reply.lane] = reply

    async with flow.operator.bus.subscribed(subjects.LIVE_RETRIEVED, hear):
        await flow.operator.bus.nc.flush()
        yield heard


async def ask_all(flow: Flow, collection: Collection) -> tuple[dict[str, Answer], Lanes]:
    async with lane_replies(flow) as lanes, flow.client(TENANT) as client:
        answers = {key: answer async for key, answer in client.stream(queries(collection), concurrency=8)}
        wanted = sum(answer.coverage.expected for answer in answers.values())
        await eventually(lambda: sum(map(len, lanes.values())) == wanted)
    return answers, lanes


def differences(answer: Answer, replies: Mapping[str, LaneReply]) -> list[str]:
    """Where an answer's order, scores or contributions differ from the reference's."""
    planned = [report for report in answer.coverage.lanes if report.lane is not None]
    lanes = [
        policies.ReferenceLane(report.corpus, report.weight, hits_of(replies[report.lane or ""])) for report in planned
    ]
    assert answer.fusion is not None
    rows = policies.fuse(lanes, answer.fusion.policy.value)
    reference = policies.seat([(row, []) for row in rows], answer.fusion.reserved_seats)
    wrong = [] if answer.total == len(reference) else [f"total {answer.total} is not {len(reference)}"]
    page = reference[:100]
    if [hit.chunk_id for hit in answer.hits] != [row.chunk_id for row in page]:
        wrong.append("another order")
    for hit, row in zip(answer.hits, page, strict=False):
        if not isclose(hit.score, float(row.exact), rel_tol=1e-12) or hit.score != row.score:
            wrong.append(f"{hit.chunk_id} scores {hit.score}, not {row.score}")
        if tuple(contribution.value for contribution in hit.contributions) != row.values:
            wrong.append(f"{hit.chunk_id} has other contributions")
    return wrong


def hits_of(reply: LaneReply) -> list[policies.Hit]:
    return [policies.Hit(hit.chunk_id, hit.rank, hit.score, hit.content_hash) for hit in reply.hits]


def quality(collection: Collection, lists: Mapping[str, list[str]]) -> float:
    judged = [ir_measures.Qrel(q, d, grade) for q, grades in collection.qrels.items() for d, grade in grades.items()]
    found = [
        ir_measures.ScoredDoc(key.removeprefix(f"{collection.name}-"), chunk_id, -rank)
        for key, ids in lists.items()
        for rank, chunk_id in enumerate(ids)
    ]
    (value,) = ir_measures.calc_aggregate([nDCG @ 10], judged, found).values()
    return float(value)


def lists_of(kind: Kind, lanes: Lanes) -> dict[str, list[str]]:
    return {
        key: [hit.chunk_id for hit in reply.hits]
        for key, replies in lanes.items()
        for reply in replies.values()
        if reply.kind is kind
    }


@pytest.mark.parametrize(
    ("name", "least_keyword"), [("cranfield", 0.35), pytest.param("scifact", 0.675, marks=pytest.mark.nightly)]
)
async def test_every_query_is_fused_as_the_reference_does(
    flow: Flow, shared: Path, say: Callable[[str], None], name: str, least_keyword: float
) -> None:
    collection = await asyncio.to_thread(load_collection, name, shared)
    started = time.monotonic()
    indexed = await flow.index(TENANT, name, chunks(collection))
    assert indexed.card.chunks == len(collection.documents)
    indexed_s = time.monotonic() - started

    answers, lanes = await ask_all(flow, collection)

    assert answers.keys() == {f"{collection.name}-{key}" for key in collection.queries}
    gaps = Counter(
        (r.lane, r.outcome, r.reason) for a in answers.values() for r in a.coverage.lanes if r.outcome in GAPS
    )
    assert gaps == {}
    assert {answer.status for answer in answers.values()} == {Status.COMPLETE}
    wrong = {key: found for key, answer in answers.items() if (found := differences(answer, lanes[key]))}
    assert wrong == {}

    keyword, vector = (quality(collection, lists_of(kind, lanes)) for kind in (Kind.KEYWORD, Kind.VECTOR))
    fused = quality(collection, {key: [hit.chunk_id for hit in answer.hits] for key, answer in answers.items()})
    say(
        f"{name}: {len(answers)} queries, 0 differences; nDCG@10 keyword {keyword:.4f}, vector {vector:.4f}, "
        f"fused {fused:.4f}; indexed in {indexed_s:.1f} s, asked in {time.monotonic() - started - indexed_s:.1f} s"
    )
    assert keyword >= least_keyword
    assert fused >= max(keyword, vector)
