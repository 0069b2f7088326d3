"""What a broker still knows of a query id neither sends a plan twice nor keeps that of another submission back."""

import pytest

from fanfuse_contracts import headers, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.classification import QueryClassified, QueryShape
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_testing.flow import eventually

CARD = CorpusCard(
    tenant="acme", corpus="docs", public=True, backends=(Wiring(kind=Kind.KEYWORD, backend="main", pool="main"),)
)


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


async def known_corpus(process, client):
    bucket = await client.jetstream().key_value(streams.CORPORA.name)
    await bucket.put(streams.corpus_key("acme", "docs"), CARD.to_json())
    await eventually(lambda: process.context.corpora.get("acme", "docs") == CARD)


async def plans(client):
    info = await client.jetstream().stream_info(streams.QUERIES.name, subjects_filter=subjects.QUERY_PLANNED)
    return (info.state.subjects or {}).get(subjects.query_planned("acme", "q1"), 0)


@pytest.mark.parametrize(("same_submission", "planned"), [(False, 2), (True, 1)], ids=["anew", "redelivered"])
async def test_a_submission_is_planned_once(process, client, same_submission, planned):
    """NAT-07: a redelivered query gives no second plan; another submission under its id has a plan of its own."""
    await known_corpus(process, client)
    first_ns = process.context.bus.now_ns()
    await classify(client, first_ns)
    await eventually(lambda: handled(client))
    await classify(client, first_ns if same_submission else first_ns + 1)
    await eventually(lambda: handled(client))
    assert await plans(client) == planned


@pytest.mark.parametrize("taken", ["acme.q1.corpus-router.0", "acme.q1.classifier.0", "acme.q1.submitted.0"])
async def test_another_tenant_cannot_take_the_id_of_a_plan(process, client, taken):
    """NAT-07: one window of duplicates serves all tenants, so no id in it may be one that can be known before."""
    await known_corpus(process, client)
    theirs = subjects.query_submitted("globex", "q9")
    await client.jetstream().publish(theirs, b"{}", headers={headers.MESSAGE_ID: taken})
    await classify(client, process.context.bus.now_ns())
    await eventually(lambda: handled(client))
    assert await plans(client) == 1
