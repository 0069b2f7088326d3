"""A used and answered query id, submitted anew: its caller hears the stored answer, whatever the broker still knows."""

import asyncio

import pytest

from fanfuse_contracts import flow, headers, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.classification import QueryClassified, QueryShape
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, RejectionCode, Shape, Stage
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_runtime.answers import refusal
from fanfuse_testing.flow import eventually

CARD = CorpusCard(
    tenant="acme", corpus="docs", public=True, backends=(Wiring(kind=Kind.KEYWORD, backend="main", pool="main"),)
)
PLAN_ID = streams.message_id("acme", "q1", Stage.CORPUS_ROUTER.value)


@pytest.fixture
async def heard(client):
    """Every answer that a subscriber hears."""
    answers: list[Answer] = []

    async def hear(msg):
        answers.append(Answer.from_json(msg.data))

    await client.subscribe(subjects.answered_of_tenant("acme"), cb=hear)
    await client.flush()
    return answers


async def classify(client, submitted_ns):
    event = QueryClassified(
        tenant="acme",
        query_id="q1",
        query=AcceptedQuery(text="wing", budget_ms=30_000),
        submitted_ns=submitted_ns,
        classification=QueryShape(shape=Shape.MIXED, reason="test"),
    )
    await client.jetstream().publish(subjects.query_classified("acme", "q1"), event.to_json())


async def handled(client):
    info = await client.jetstream().consumer_info(streams.QUERIES.name, streams.ROUTER_CONSUMER.durable)
    return info.num_pending == 0 and info.num_ack_pending == 0


@pytest.mark.parametrize(("same_submission", "times"), [(False, 2), (True, 1)], ids=["anew", "redelivered"])
async def test_a_plan_the_broker_knows_already_still_gets_its_answer(process, client, heard, same_submission, times):
    """NAT-07: after a restart a broker may know the id of a plan, and none of the steps before it."""
    bus = process.context.bus
    bucket = await client.jetstream().key_value(streams.CORPORA.name)
    await bucket.put(streams.corpus_key("acme", "docs"), CARD.to_json())
    await eventually(lambda: process.context.corpora.get("acme", "docs") == CARD)
    first_ns = bus.now_ns()
    stored = refusal("acme", "q1", Rejection(code=RejectionCode.NO_LANE, message="first"), submitted_ns=first_ns)
    await bus.publish(flow.FUSED, subjects.query_fused("acme", "q1"), stored, streams.answer_id("acme", "q1"))
    await client.jetstream().publish(subjects.query_planned("acme", "q1"), b"{}", headers={headers.MESSAGE_ID: PLAN_ID})

    await classify(client, first_ns if same_submission else bus.now_ns())
    await eventually(lambda: handled(client))
    await eventually(lambda: len(heard) >= times)
    await asyncio.sleep(0.1)

    assert heard == [stored] * times
