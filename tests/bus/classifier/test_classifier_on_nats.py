"""The classifier as a running service on a real server."""

import asyncio
import json
import time

import pytest

from fanfuse_classifier.service import build
from fanfuse_contracts import subjects
from fanfuse_contracts.classification import CorpusScore, QueryClassified
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import RejectionCode, Shape, Stage, Status
from fanfuse_contracts.headers import MESSAGE_ID
from fanfuse_contracts.plan import DecideReply, DecideRequest, Rejection
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.compose import compose
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.settings import RuntimeSettings
from tests.bus.classifier.asking import answered, classified, decide, holds, messages, register, submit

CARD = CorpusCard(tenant="acme", corpus="docs", public=True, term_weights={"wing": 2.0})
EVERYTHING = SubmittedQuery.model_validate(
    {
        "text": "Zu\u0308rich \u202eكيف😀 wing?",
        "corpora": ["docs"],
        "top_k": 3,
        "offset": 2,
        "window": 7,
        "budget_ms": 5_000,
        "filter": {"not": {"field": "year", "op": "eq", "value": 2020}},
        "graph_seeds": [],
        "expansion_terms": ["airfoil"],
        "vector": {"model": "m", "values": [0.5, 1.0]},
        "hyde_vector": {"model": "m", "values": [1.0, 0.5]},
        "principal": {"id": "alice", "roles": ["staff"]},
        "include_text": False,
    }
)


async def test_a_query_is_classified_and_passed_on_whole(process, client):
    """CLS-07: right-to-left text, controls, emoji and a decomposed name pass unchanged; so does every field."""
    await register(client, process, CARD)
    await submit(client, "q1", EVERYTHING.to_json())
    event = await classified(client, "q1")

    assert event.query.model_dump() == EVERYTHING.model_dump()
    assert (event.tenant, event.query_id) == ("acme", "q1")
    assert event.classification.shape is Shape.SEMANTIC
    assert event.corpus_scores == (CorpusScore(corpus="docs", score=2.0),)
    assert [hop.stage for hop in event.hops] == [Stage.CLASSIFIER]
    assert 0 < event.hops[0].took_ms <= event.hops[0].at_ms < 5_000
    assert event.submitted_ns > 0


async def test_a_blank_query_is_rejected_and_nothing_is_searched(process, client):
    """CLS-01: reason empty_query, no event for the router, no redelivery."""
    await submit(client, "q1", SubmittedQuery(text="\u200b\u3000").to_json())
    answer = await answered(client, "q1")

    assert (answer.status, answer.rejection.code) == (Status.REJECTED, RejectionCode.EMPTY_QUERY)
    assert await holds(client, "QUERIES", 0)
    assert await messages(client, "DEADLETTER") == 0


async def test_a_spent_budget_is_answered_expired(process, client, monkeypatch):
    monkeypatch.setattr(process.context.bus, "remaining_ms", lambda submitted_ns, budget_ms: -1.0)
    await submit(client, "q1", SubmittedQuery(text="late").to_json())
    answer = await answered(client, "q1")

    assert (answer.status, answer.rejection.code) == (Status.EXPIRED, RejectionCode.EXPIRED)
    assert answer.rejection.stage is Stage.CLASSIFIER
    assert [hop.stage for hop in answer.hops] == [Stage.CLASSIFIER], "a refusal says who had the query"
    assert 0 <= answer.hops[0].took_ms <= answer.hops[0].at_ms
    assert answer.rejection.retryable
    assert await holds(client, "QUERIES", 0)


BAD = [
    (b"{", RejectionCode.INVALID_QUERY, "body"),
    (b"\xff", RejectionCode.INVALID_QUERY, "body"),
    (b'{"text":"x","nope":1}', RejectionCode.INVALID_QUERY, "nope"),
    (b'{"text":7}', RejectionCode.INVALID_QUERY, "text"),
    (b'{"text":"a\\u0000b"}', RejectionCode.INVALID_QUERY, "text"),
    (b'{"text":"%s"}' % (b"x" * 1_000_000), RejectionCode.TOO_LARGE, "text"),
]


async def test_bad_bodies_are_rejected_quickly_and_the_service_lives(process, client):
    took = []
    for number, (body, code, field) in enumerate(BAD):
        began = time.perf_counter()
        await submit(client, f"bad{number}", body)
        answer = await answered(client, f"bad{number}")

        took.append(time.perf_counter() - began)
        assert (answer.status, answer.rejection.code) == (Status.REJECTED, code)
        assert answer.rejection.message.startswith(f"{field}: ")
    assert sorted(took)[len(took) // 2] < 1.0
    await submit(client, "good", SubmittedQuery(text="good").to_json())
    await classified(client, "good")

    assert await holds(client, "DEADLETTER", len(BAD))


async def test_a_subject_that_is_no_query_is_a_dead_letter(process, client):
    await client.jetstream().publish("fanfuse.v1.query.submitted.ACME.Q1", SubmittedQuery(text="x").to_json())
    assert await holds(client, "DEADLETTER", 1)
    await submit(client, "good", SubmittedQuery(text="good").to_json())

    await classified(client, "good")


@pytest.mark.parametrize("tenant", ["ACME", "acme>", "acme*", "té", "x" * 300])
async def test_decide_for_what_is_no_tenant_is_refused_in_words(process, client, tenant):
    """TEN-04: no subject is ever built from it."""
    reply = await decide(client, DecideRequest(query=SubmittedQuery(text="x")).to_json(), tenant=tenant)

    assert reply.rejection.code is RejectionCode.INVALID_QUERY
    assert reply.rejection.message.startswith(f"tenant '{tenant[:70]}")


async def test_a_query_that_always_fails_is_answered_in_the_end(process, client, monkeypatch):
    monkeypatch.setattr("fanfuse_contracts.limits.RETRY_DELAYS_S", (0.01,))

    def broken(*_):
        raise RuntimeError("bug")

    monkeypatch.setattr("fanfuse_classifier.bus.classify", broken)
    await submit(client, "q1", SubmittedQuery(text="x", budget_ms=30_000).to_json())
    answer = await answered(client, "q1")

    assert (answer.status, answer.rejection.code) == (Status.FAILED, RejectionCode.INTERNAL)
    assert await holds(client, "DEADLETTER", 1)


async def test_a_full_queue_is_answered_overloaded(process, client):
    config = (await client.jetstream().stream_info("QUERIES")).config
    await client.jetstream().publish(subjects.query_planned("acme", "waiting"), b"{}")
    await client.jetstream().publish(subjects.query_planned("acme", "waiting2"), b"{}")
    await client.jetstream().update_stream(config=config.evolve(max_msgs=3))
    await submit(client, "q1", SubmittedQuery(text="x").to_json())
    answer = await answered(client, "q1")

    assert answer.rejection.code is RejectionCode.OVERLOADED
    assert answer.rejection.retryable


async def test_the_id_of_what_is_passed_on_is_that_of_the_submission(process, client):
    """So a redelivered query is passed on once, and nobody can take the id before the query is stored."""
    await submit(client, "q1", SubmittedQuery(text="again").to_json())
    event = await classified(client, "q1")
    stored = await client.jetstream().get_last_msg("QUERIES", subjects.query_classified("acme", "q1"))
    assert stored.headers[MESSAGE_ID] == f"acme.q1.classifier.{event.submitted_ns}.0"
    await client.jetstream().publish(stored.subject, b"{}", headers={MESSAGE_ID: stored.headers[MESSAGE_ID]})
    assert await holds(client, "QUERIES", 1)


async def test_decide_asks_the_router(process, client):
    asked = []

    async def router(msg):
        asked.append(QueryClassified.from_json(msg.data))
        rejection = Rejection(code=RejectionCode.NO_VISIBLE_CORPUS, message="none")
        await msg.respond(DecideReply(rejection=rejection).to_json())

    await client.subscribe(subjects.route_decide("acme"), cb=router)
    await register(client, process, CARD)
    reply = await decide(client, DecideRequest(query=SubmittedQuery(text="wing")).to_json())

    assert reply.rejection.code is RejectionCode.NO_VISIBLE_CORPUS
    assert (asked[0].tenant, asked[0].query.text) == ("acme", "wing")
    assert asked[0].corpus_scores == (CorpusScore(corpus="docs", score=2.0),)
    assert await messages(client, "QUERIES") == 0


async def test_decide_without_a_router_is_unavailable_and_still_tells_the_shape(process, client):
    reply = await decide(client, DecideRequest(query=SubmittedQuery(text="What is RAG?")).to_json())

    assert (reply.rejection.code, reply.rejection.retryable) == (RejectionCode.UNAVAILABLE, True)
    assert reply.classification.shape is Shape.SEMANTIC


async def test_decide_with_a_router_that_is_silent_or_mad(process, client):
    async def silent(msg):
        pass

    async def mad(msg):
        await msg.respond(b"{")

    query = SubmittedQuery(text="x", budget_ms=100)
    for router in (silent, mad):
        subscription = await client.subscribe(subjects.route_decide("acme"), cb=router)
        reply = await decide(client, DecideRequest(query=query).to_json())
        await subscription.unsubscribe()
        assert reply.rejection.code is RejectionCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b"{", RejectionCode.INVALID_QUERY, "body"),
        (b'{"query":{"text":"x","nope":1}}', RejectionCode.INVALID_QUERY, "query.nope"),
        (json.dumps({"query": {"text": "x" * 9_000}}).encode(), RejectionCode.TOO_LARGE, "query.text"),
        (b'{"query":{"text":" "}}', RejectionCode.EMPTY_QUERY, "text"),
    ],
)
async def test_decide_refuses_bad_bodies_in_words(process, client, body, code, field):
    reply = await decide(client, body)

    assert reply.rejection.code is code
    assert reply.rejection.message.startswith(f"{field}: ")


async def test_pathological_text_does_not_hold_up_the_queries_behind_it(nats_server, client, tmp_path):
    """CLS-06: twenty ordinary queries right behind it are classified in time."""
    file = tmp_path / "fanfuse.yaml"
    file.write_text('retrieval: {routing: {rules: [{name: evil, corpora: [docs], match_regex: "(a+)+b"}]}}')
    async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url, config_file=file)) as process:
        await register(client, process, CARD)
        await submit(client, "evil", SubmittedQuery(text="a" * 40 + "X").to_json())
        for number in range(20):
            await submit(client, f"q{number}", SubmittedQuery(text=f"query {number} aab", budget_ms=30_000).to_json())
        events = await asyncio.gather(*(classified(client, f"q{number}") for number in range(20)))
        evil = await classified(client, "evil")

    assert evil.corpus_scores == ()
    assert evil.hops[0].took_ms < 10_000, "a backtracking engine would take hours"
    assert all([rule.rule for rule in event.corpus_scores[0].fired] == ["evil"] for event in events)


async def test_a_faulty_rule_stops_the_start(nats_server, tmp_path):
    """CLS-06: refused at start-up with the rule's name."""
    file = tmp_path / "fanfuse.yaml"
    file.write_text('retrieval: {routing: {rules: [{name: billing, corpora: [docs], match_regex: "(["}]}}')
    with pytest.raises(ConfigError, match="billing"):
        async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url, config_file=file)):
            pass
