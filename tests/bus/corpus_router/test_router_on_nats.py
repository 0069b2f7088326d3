"""The router as a running service on a real server."""

from contextlib import suppress

import nats
import pytest

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.classification import QueryClassified, QueryShape
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import BackendHealth, Kind, RejectionCode, Shape, Status
from fanfuse_contracts.health import BackendState
from fanfuse_contracts.operations import RouteAudited
from fanfuse_contracts.plan import DecideReply, QueryPlanned, RetrieveCommand
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_testing.flow import eventually

CARD = CorpusCard(
    tenant="acme",
    corpus="docs",
    public=True,
    backends=tuple(Wiring(kind=kind, backend="main", pool="main") for kind in (Kind.KEYWORD, Kind.GRAPH)),
)


def classified(process, query_id, tenant="acme", **query):
    return QueryClassified(
        tenant=tenant,
        query_id=query_id,
        query=AcceptedQuery(**({"text": "Alice Smith"} | query)),
        submitted_ns=process.context.bus.now_ns(),
        classification=QueryShape(shape=Shape.MIXED, reason="test", entities=("Alice Smith",)),
    )


async def register(client, process, card=CARD):
    bucket = await client.jetstream().key_value(streams.CORPORA.name)
    await bucket.put(streams.corpus_key(card.tenant, card.corpus), card.to_json())
    await eventually(lambda: process.context.corpora.get(card.tenant, card.corpus) == card)


async def stored(client, channel, subject, model):
    """The one message on a subject, as soon as it is there."""

    async def look():
        with suppress(nats.js.errors.NotFoundError):
            return model.from_json((await client.jetstream().get_last_msg(channel.stream, subject)).data)

    return await eventually(look)


async def submit(client, event, body=None):
    subject = subjects.query_classified(event.tenant, event.query_id)
    await client.jetstream().publish(subject, body if body is not None else event.to_json())


async def test_a_query_becomes_commands_a_plan_and_an_audit(process, client):
    await register(client, process)
    await submit(client, classified(process, "q1"))
    planned = await stored(client, flow.PLANNED, subjects.query_planned("acme", "q1"), QueryPlanned)
    assert [lane.kind for lane in planned.plan.lanes] == [Kind.KEYWORD, Kind.GRAPH]
    for lane in planned.plan.lanes:
        subject = subjects.retrieve(lane.kind, lane.pool, "acme", "docs")
        command = await stored(client, flow.RETRIEVE, subject, RetrieveCommand)
        assert command.lane == lane.name
    audited = await stored(client, flow.AUDITED, subjects.audit("acme"), RouteAudited)
    assert audited.plan == planned.plan


async def test_a_degraded_backend_gets_no_command(process, client):
    await register(client, process)
    bucket = await client.jetstream().key_value(streams.BACKEND_STATE.name)
    state = BackendState(kind=Kind.GRAPH, backend="main", state=BackendHealth.DEGRADED, version=1, since="now")
    await bucket.put(streams.backend_key(Kind.GRAPH, "main"), state.to_json())
    await eventually(lambda: process.context.backends.unhealthy)
    await submit(client, classified(process, "q1"))
    planned = await stored(client, flow.PLANNED, subjects.query_planned("acme", "q1"), QueryPlanned)
    assert [lane.kind for lane in planned.plan.lanes] == [Kind.KEYWORD]
    assert planned.plan.decisions[0].bm25_fallback
    with pytest.raises(nats.js.errors.NotFoundError):
        await client.jetstream().get_last_msg("RETRIEVE", subjects.retrieve(Kind.GRAPH, "main", "acme", "docs"))


async def test_an_unknown_tenant_is_answered_at_once(process, client):
    await submit(client, classified(process, "q1", tenant="nobody"))
    answer = await stored(client, flow.FUSED, subjects.query_fused("nobody", "q1"), Answer)
    assert (answer.status, answer.rejection.code) == (Status.REJECTED, RejectionCode.NO_VISIBLE_CORPUS)
    assert (await client.jetstream().stream_info("RETRIEVE")).state.messages == 0


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe", b'{"schema_version": 9}'])
async def test_an_unreadable_message_is_answered_and_the_next_query_is_planned(process, client, body):
    await register(client, process)
    await submit(client, classified(process, "bad"), body)
    await submit(client, classified(process, "good"))
    answer = await stored(client, flow.FUSED, subjects.query_fused("acme", "bad"), Answer)
    assert answer.rejection.code is RejectionCode.INVALID_QUERY
    await stored(client, flow.PLANNED, subjects.query_planned("acme", "good"), QueryPlanned)
    assert (await client.jetstream().stream_info("DEADLETTER")).state.messages == 1


async def test_decide_gives_the_bytes_of_the_plan(process, client):
    await register(client, process)
    event = classified(process, "q1")
    reply = await client.request(subjects.route_decide("acme"), event.to_json(), timeout=30)
    told = DecideReply.from_json(reply.data)
    await submit(client, event)
    planned = await stored(client, flow.PLANNED, subjects.query_planned("acme", "q1"), QueryPlanned)
    assert told.plan is not None
    assert told.plan.to_json() == planned.plan.to_json()


async def test_a_full_stream_of_commands_is_answered_overloaded(process, client):
    await register(client, process)
    js = client.jetstream()
    config = (await js.stream_info("RETRIEVE")).config
    config.max_bytes = 1
    await js.update_stream(config)
    await submit(client, classified(process, "q1"))
    answer = await stored(client, flow.FUSED, subjects.query_fused("acme", "q1"), Answer)
    assert (answer.rejection.code, answer.rejection.retryable) == (RejectionCode.OVERLOADED, True)
