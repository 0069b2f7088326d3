"""Two tenants with the same corpora and chunk ids on the same services: nothing of one is ever seen by the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from fanfuse_contracts import flow as channels
from fanfuse_contracts import subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode, Status
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, digest
from fanfuse_contracts.query import Principal
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest, LaneReply
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

OURS, THEIRS = "acme", "globex"
PATIENT_MS = 20_000
"""A busy machine must not turn an answer into a partial one."""
MARKS = {OURS: "heliotrope", THEIRS: "vermilion"}
"""A word in every text and title of a tenant's chunks."""
OTHER = {OURS: THEIRS, THEIRS: OURS}


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def corpora(flow: Flow) -> None:
    for tenant, mark in MARKS.items():
        await flow.index(tenant, "docs", library(mark), FIELDS)
    await flow.index(THEIRS, "plans", library("cinnabar", only=("csv", "json")), FIELDS)
    await flow.index(OURS, "board", library("indigo", only=("csv", "json")), FIELDS, readers=frozenset({"director"}))
    await flow.index(OURS, "open", library("ochre", only=("socket",)), FIELDS, public=True)


@asynccontextmanager
async def heard_replies(flow: Flow) -> AsyncIterator[list[LaneReply]]:
    heard: list[LaneReply] = []

    async def hear(msg: Msg) -> None:
        heard.append(LaneReply.from_json(msg.data))

    async with flow.operator.bus.subscribed(subjects.LIVE_RETRIEVED, hear):
        await flow.operator.bus.nc.flush()
        yield heard


def everything(answer: Answer) -> str:
    return answer.to_json().decode()


@pytest.mark.parametrize("tenant", [OURS, THEIRS])
async def test_every_lane_finds_own_chunks_only(flow: Flow, tenant: str) -> None:
    """FUS-11, QDR-02: equal corpus and chunk ids of two tenants never meet."""
    async with flow.client(tenant) as client, heard_replies(flow) as replies:
        answer = await client.ask(
            f"{QUESTION} {MARKS[OTHER[tenant]]}",
            corpora=("docs",),
            graph_seeds=(*SEEDS, "files", "network"),
            budget_ms=PATIENT_MS,
        )
        mine = await eventually(lambda: (found := [r for r in replies if r.tenant == tenant]) and found[2:] and found)
    assert answer.status is Status.COMPLETE
    assert {reply.kind: reply.outcome for reply in mine} == dict.fromkeys(Kind, LaneOutcome.ANSWERED)
    for reply in mine:
        assert all(MARKS[tenant] in hit.title for hit in reply.hits)
    assert len(answer.hits) == 8
    assert all(hit.text and MARKS[tenant] in hit.text and MARKS[tenant] in hit.title for hit in answer.hits)
    assert MARKS[OTHER[tenant]] not in everything(answer)


async def test_both_tenants_at_once_under_the_same_query_ids(flow: Flow) -> None:
    ids = [f"same-{number}" for number in range(50)]
    async with flow.client(OURS) as ours, flow.client(THEIRS) as theirs:
        asked = [
            client.ask(QUESTION, budget_ms=PATIENT_MS, query_id=i, corpora=("docs",))
            for i in ids
            for client in (ours, theirs)
        ]
        answers = await asyncio.gather(*asked)
        assert [answer.tenant for answer in answers] == [OURS, THEIRS] * 50
        for answer in answers:
            assert answer.hits
            assert MARKS[OTHER[answer.tenant]] not in everything(answer)
        for query_id in ids:
            stored = await ours.stored(query_id)
            assert stored is not None
            assert MARKS[THEIRS] not in everything(stored)


async def test_a_stored_answer_is_read_by_its_tenant_only(flow: Flow) -> None:
    async with flow.client(OURS) as ours, flow.client(THEIRS) as theirs:
        await theirs.ask(QUESTION, budget_ms=PATIENT_MS, query_id="private")
        assert await theirs.stored("private") is not None
        assert await ours.stored("private") is None


async def test_a_foreign_corpus_is_refused_like_one_that_does_not_exist(flow: Flow) -> None:
    """TEN-06: the error does not tell which of the two it is."""
    async with flow.client(OURS) as ours:
        said = []
        for name in ("plans", "nowhere"):
            answer = await ours.ask(QUESTION, budget_ms=PATIENT_MS, corpora=(name,))
            assert (answer.status, answer.hits) == (Status.REJECTED, ())
            assert answer.rejection is not None
            assert answer.rejection.code is RejectionCode.UNKNOWN_CORPUS
            said.append(answer.rejection.message.replace(name, "?"))
        assert said[0] == said[1]
        both = await ours.ask(QUESTION, budget_ms=PATIENT_MS, corpora=("plans", "docs"))
    assert {hit.corpus for hit in both.hits} == {"docs"}
    assert "cinnabar" not in everything(both)


async def test_decide_speaks_of_own_corpora_only(flow: Flow) -> None:
    async with flow.client(OURS) as ours, flow.client(THEIRS) as theirs:
        for client, allowed in ((ours, {"docs", "open"}), (theirs, {"docs", "plans"})):
            reply = await client.decide(QUESTION, graph_seeds=SEEDS)
            assert reply.plan is not None
            assert {row.corpus for row in reply.plan.corpus_decision.scores} == allowed
            assert {lane.corpus for lane in reply.plan.lanes} == allowed
        refused = [await ours.decide(QUESTION, corpora=(name,)) for name in ("plans", "nowhere")]
    assert [reply.rejection and reply.rejection.code for reply in refused] == [RejectionCode.UNKNOWN_CORPUS] * 2


async def test_texts_are_given_to_the_tenant_of_the_subject(flow: Flow) -> None:
    request = ChunksRequest(chunk_ids=("csv", "pathlib"))
    for tenant in (OURS, THEIRS):
        data = await flow.operator.bus.request(channels.CHUNKS, subjects.chunks_get(tenant, "docs"), request, 5.0)
        reply = ChunksReply.from_json(data)
        assert [chunk.chunk_id for chunk in reply.chunks] == ["csv", "pathlib"]
        assert all(MARKS[tenant] in chunk.text for chunk in reply.chunks)


@pytest.mark.parametrize(
    ("principal", "visible"),
    [
        (None, {"open"}),
        (Principal(id=" "), {"open"}),
        (Principal(id="ann"), {"open", "docs"}),
        (Principal(id="ann", roles=frozenset({"clerk", " "})), {"open", "docs"}),
        (Principal(id="ann", roles=frozenset({"director"})), {"open", "docs", "board"}),
    ],
)
async def test_roles_decide_what_is_visible(flow: Flow, principal: Principal | None, visible: set[str]) -> None:
    """TEN-06: fails closed for whoever states nothing."""
    async with flow.client(OURS, stranger=True) as client:
        fields: dict[str, Any] = {"principal": principal} if principal is not None else {}
        answer = await client.ask(QUESTION, budget_ms=PATIENT_MS, graph_seeds=SEEDS, **fields)
        assert {report.corpus for report in answer.coverage.lanes} == visible
        assert {hit.corpus for hit in answer.hits} <= visible
        assert answer.corpus_decision is not None
        assert {row.corpus for row in answer.corpus_decision.scores} == visible
        pinned = await client.ask(QUESTION, budget_ms=PATIENT_MS, corpora=("board",), **fields)
    assert (pinned.status is Status.REJECTED) == ("board" not in visible)
    assert ("indigo" in everything(pinned)) == ("board" in visible)


RECENT_FILES = And(
    all_of=(
        Leaf(field="topic", op=Op.EQ, value="files"),
        Leaf(field="year", op=Op.GTE, value=2002),
    )
)
NOT_FILES = Not(negated=Leaf(field="topic", op=Op.IN, value=("files", "formats")))


@pytest.mark.parametrize(
    ("condition", "left"),
    [(RECENT_FILES, {"pathlib", "csv"}), (NOT_FILES, {"asyncio", "socket", "logging"})],
    ids=["and", "not"],
)
async def test_a_filter_holds_on_every_lane(flow: Flow, condition: Filter, left: set[str]) -> None:
    """TEN-02: each lane searches inside the filter and attests it."""
    seeds = ("files", "network", "formats", "operation")
    async with flow.client(OURS) as client, heard_replies(flow) as replies:
        answer = await client.ask(
            QUESTION, budget_ms=PATIENT_MS, corpora=("docs",), graph_seeds=seeds, filter=condition
        )
        await eventually(lambda: len(replies) == 3)
    wanted = digest(OURS, "docs", condition)
    assert {reply.kind: reply.filter_digest for reply in replies} == dict.fromkeys(Kind, wanted)
    for reply in replies:
        assert {hit.chunk_id for hit in reply.hits} <= left
    assert {hit.chunk_id for reply in replies if reply.kind is Kind.VECTOR for hit in reply.hits} == left
    assert {hit.chunk_id for hit in answer.hits} == left
    assert (answer.status, answer.coverage.rejected_replies) == (Status.COMPLETE, 0)
