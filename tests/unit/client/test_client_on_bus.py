"""The client against a real nats-server and a stand-in service that answers what the text of the query asks for."""

import asyncio
import time
from collections.abc import AsyncIterator

import nats
import pytest

from fanfuse_client import AnswerTimeout, Client, InvalidQuery, NotConnected, Overloaded, TooLarge, Unavailable
from fanfuse_contracts import headers, streams, subjects
from fanfuse_contracts.answer import Answer, Coverage
from fanfuse_contracts.enums import Shape, SourceKind, Stage, Status
from fanfuse_contracts.plan import (
    CapabilityOption,
    Clarification,
    DecideReply,
    DecideRequest,
    Rejection,
    RoutingDecision,
)
from fanfuse_contracts.query import Principal, StickyDecision, SubmittedQuery
from fanfuse_contracts.sticky import sticky_of
from fanfuse_contracts.weights import Weights
from fanfuse_runtime.answers import publish_answer, publish_clarification, publish_refusal
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import Service
from fanfuse_runtime.settings import RuntimeSettings

SEEN: list[tuple[str, SubmittedQuery, dict[str, str]]] = []

TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbm5hIn0.c2ln"
UNCLEAR = Clarification(
    message="the rule or the state of one record?",
    options=tuple(
        CapabilityOption(corpus=corpus, capability=capability, source=source)
        for corpus, capability, source in (
            ("handbook", "leave-policy", SourceKind.POLICY),
            ("records", "leave-balance", SourceKind.RECORD),
        )
    ),
)
DECIDED = RoutingDecision(
    corpus="docs",
    shape=Shape.SEMANTIC,
    use_vector=True,
    use_keyword=True,
    use_graph=False,
    weights=Weights(vector=1.5),
    degraded_backends=(),
    bm25_fallback=False,
    reason="",
    corpus_weight=0.75,
)


def build_stand_in(context: Context) -> Service:
    router = ServiceRouter(Stage.CLASSIFIER, context)

    async def refuse(delivery: Delivery, rejection: Rejection) -> None:
        await publish_refusal(
            context.bus, context.metrics, delivery.tenant, delivery.query_id, rejection, delivery.stored_ns
        )

    @router.consume(streams.CLASSIFIER_CONSUMER, SubmittedQuery, in_flight=64, on_failed=refuse)
    async def on_query_submitted(delivery: Delivery, query: SubmittedQuery) -> None:
        SEEN.append((delivery.query_id, query, dict(delivery.headers)))
        if query.text == "never":
            return
        if query.text.startswith("sleep "):
            await asyncio.sleep(float(query.text.split()[1]))
        if query.text == "leave" and query.capability is None:
            await publish_clarification(
                context.bus, context.metrics, delivery.tenant, delivery.query_id, UNCLEAR, delivery.stored_ns
            )
            return
        answer = Answer(
            tenant=delivery.tenant,
            query_id=delivery.query_id,
            status=Status.COMPLETE,
            coverage=Coverage(expected=0),
            submitted_ns=delivery.stored_ns,
            total=query.top_k,
            decisions=(DECIDED,),
        )
        await publish_answer(context.bus, context.metrics, answer)

    @router.respond(subjects.QUERY_DECIDE, DecideRequest, invalid=lambda rejection: DecideReply(rejection=rejection))
    async def on_decide(delivery: Delivery, request: DecideRequest) -> DecideReply:
        SEEN.append(("decide", request.query, dict(delivery.headers)))
        return DecideReply(clarification=UNCLEAR if request.query.text == "leave" else None)

    return Service(Stage.CLASSIFIER, router)


@pytest.fixture
async def process(nats_server: NatsServer) -> AsyncIterator[Process]:
    SEEN.clear()
    async with compose(build_stand_in, settings=RuntimeSettings(nats_url=nats_server.url)) as running:
        yield running


@pytest.fixture
async def client(process: Process, nats_server: NatsServer) -> AsyncIterator[Client]:
    async with Client(nats_server.url, "acme") as connected:
        yield connected


async def test_ask_returns_the_one_answer(client):
    answer = await client.ask("hello", top_k=3)

    assert (answer.tenant, answer.status, answer.total) == ("acme", Status.COMPLETE, 3)


async def test_a_used_query_id_gives_the_stored_answer_and_runs_nothing(client):
    first = await client.ask("hello", query_id="q1", top_k=3)
    again = await client.ask("other", query_id="q1", top_k=7)

    assert again == first
    assert [query_id for query_id, _, _ in SEEN] == ["q1"]


async def test_the_same_text_asked_twice_is_two_queries(client):
    """NAT-07: a message id is never made from the text."""
    await asyncio.gather(client.ask("hello"), client.ask("hello"))
    await client.ask("hello")

    assert [query.text for _, query, _ in SEEN] == ["hello"] * 3
    assert len({query_id for query_id, _, _ in SEEN}) == 3


async def test_a_duplicate_of_a_running_query_waits_for_the_same_answer(client):
    first, second = await asyncio.gather(client.ask("sleep 0.3", query_id="q1"), client.ask("sleep 0.3", query_id="q1"))

    assert first == second
    assert len(SEEN) == 1


async def test_principal_of_the_client_stands_in_only_where_the_query_states_none(process, nats_server):
    async with Client(nats_server.url, "acme", principal=Principal(id="anna")) as client:
        await client.ask("a")
        await client.ask("b", principal=Principal(id="ben"))

    assert [query.principal and query.principal.id for _, query, _ in SEEN] == ["anna", "ben"]


async def test_a_token_travels_in_its_header_alone(process, nats_server):
    """And instead of the client's principal: two that differ would be refused."""
    async with Client(nats_server.url, "acme", principal=Principal(id="ben")) as client:
        await client.ask("a", principal_token=TOKEN)
        await client.submit("b", principal_token=TOKEN)
        await client.decide("c", principal_token=TOKEN)
        [_] = [answered async for answered in client.stream(["d"], principal_token=TOKEN)]
        await client.ask("e")

    carried = {query.text: (query.principal, header.get(headers.PRINCIPAL)) for _, query, header in SEEN}
    assert carried == dict.fromkeys("abcd", (None, TOKEN)) | {"e": (Principal(id="ben"), None)}
    assert all(headers.TRACEPARENT in header for _, _, header in SEEN)


@pytest.mark.parametrize(
    "token", ["", "secret", "secret.secret", f"{TOKEN}\r\nNats-Msg-Id: x", f"{TOKEN} ", "secret." * 2_000 + "x"]
)
async def test_what_is_no_token_is_refused_before_it_is_sent_and_not_repeated(client, token):
    with pytest.raises(InvalidQuery, match="principal_token is no compact JWT") as refused:
        await client.ask("a", principal_token=token)

    assert "secret" not in str(refused.value)
    assert SEEN == []


async def test_a_clarification_is_an_answer_and_one_of_its_options_the_reply(client):
    answer = await client.ask("leave")

    assert (answer.status, answer.hits) == (Status.CLARIFY, ())
    assert answer.clarification == UNCLEAR
    assert (await client.decide("leave")).clarification == UNCLEAR
    again = await client.ask("leave", capability=answer.clarification.options[1].capability)
    assert again.status is Status.COMPLETE
    assert SEEN[-1][1].capability == "leave-balance"


async def test_the_next_query_may_stay_with_the_decision_of_an_answer(client):
    answer = await client.ask("first")
    await client.ask("second", decision=sticky_of(answer.decisions))

    assert SEEN[-1][1].decision == StickyDecision.model_validate(
        {"shape": "semantic", "corpora": [{"corpus": "docs", "weight": 0.75, "weights": {"vector": 1.5}}]}
    )


async def test_a_pin_beside_a_decision_is_refused_before_it_is_sent(client):
    with pytest.raises(InvalidQuery, match="send one of them"):
        await client.ask("x", corpora=("docs",), decision=sticky_of((DECIDED,)))

    assert SEEN == []


async def test_every_query_starts_a_trace_of_its_own(client):
    await client.ask("a")
    await client.ask("b")

    traces = [carried[headers.TRACEPARENT].split("-") for _, _, carried in SEEN]
    assert all([version, flags] == ["00", "01"] for version, _, _, flags in traces)
    assert len({trace for _, trace, _, _ in traces}) == 2


async def test_a_current_opentelemetry_span_is_the_parent(client):
    from opentelemetry.sdk.trace import TracerProvider

    with TracerProvider().get_tracer("test").start_as_current_span("app") as span:
        await client.ask("a")

    assert SEEN[0][2][headers.TRACEPARENT].split("-")[1] == f"{span.get_span_context().trace_id:032x}"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"top_k": 1000}, "top_k: Input should be less than or equal to 100"),
        ({"topk": 3}, "topk: Extra inputs are not permitted"),
        ({"query_id": "A.b"}, "query id 'A.b' is not valid"),
        ({"filter": {"field": "year", "op": "in", "value": 3}}, "takes a list of values"),
    ],
)
async def test_an_invalid_query_is_refused_before_it_is_sent(client, fields, says):
    with pytest.raises(InvalidQuery, match=says) as refused:
        await client.ask("hello", **fields)

    assert "\n" not in str(refused.value)
    assert not refused.value.retryable
    assert SEEN == []


async def test_a_text_over_the_limit_is_refused_before_it_is_sent(client):
    with pytest.raises(TooLarge, match="1000000 bytes"):
        await client.ask("x" * 1_000_000)

    assert SEEN == []


async def test_timeout_is_typed_and_names_the_query(client, monkeypatch):
    monkeypatch.setattr("fanfuse_client.client.GRACE_S", 0.1)

    with pytest.raises(AnswerTimeout, match="q9") as timeout:
        await client.ask("never", query_id="q9", budget_ms=100)

    assert timeout.value.query_id == "q9"


async def test_submit_stored_and_cancel(client, nats_server):
    observer = await nats.connect(nats_server.url)
    cancelled = await observer.subscribe(subjects.QUERY_CANCELLED)
    await observer.flush()

    query_id = await client.submit("sleep 0.2")
    assert await client.stored(query_id) is None
    await client.cancel(query_id)
    answer = await client.ask("asked again under the same id", query_id=query_id)

    assert await client.stored(query_id) == answer
    assert (await cancelled.next_msg(timeout=2)).subject == subjects.query_cancelled("acme", query_id)
    await observer.close()


async def test_stream_gives_answers_as_they_arrive_within_its_concurrency(client):
    queries = [("slow", "sleep 0.5"), *((f"q{n}", "hi") for n in range(20))]

    order = [query_id async for query_id, _ in client.stream(queries, concurrency=4)]

    assert order[-1] == "slow"
    assert sorted(order) == sorted(["slow", *(f"q{n}" for n in range(20))])


async def test_stream_does_not_wait_for_a_slow_source(client):
    async def source():
        yield "first"
        await asyncio.sleep(0.5)
        yield "second"

    started = time.monotonic()
    async for _ in client.stream(source(), concurrency=8):
        break

    assert time.monotonic() - started < 0.4


async def test_decide_without_a_service_is_unavailable(nats_server):
    async with Client(nats_server.url, "acme") as client:
        with pytest.raises(Unavailable, match="are the services running"):
            await client.decide("hello")


async def test_decide_is_answered(client):
    assert await client.decide("hello") == DecideReply()


async def test_no_bus_is_not_connected_within_the_bound():
    with pytest.raises(NotConnected, match=r"127\.0\.0\.1:1"):
        async with Client("nats://127.0.0.1:1", "acme"):
            pass


async def test_a_bus_without_streams_or_with_a_full_one_is_overloaded(nats_server, monkeypatch):
    monkeypatch.setattr("fanfuse_client.connection._RETRY_DELAYS_S", (0.01,))
    async with Client(nats_server.url, "acme") as client:
        with pytest.raises(Overloaded, match="stores no queries"):
            await client.ask("hello")
        connection = await nats.connect(nats_server.url)
        js = connection.jetstream()
        await js.add_stream(
            name="QUERIES", subjects=[subjects.QUERY_SUBMITTED], max_msgs=1, discard="new", retention="workqueue"
        )
        await client.submit("fits")
        with pytest.raises(Overloaded, match="maximum messages") as refused:
            await client.submit("one too many")
        await connection.close()

    assert refused.value.retryable


async def test_an_answer_missed_while_the_bus_was_away_is_read_afterwards(own_nats_server):
    server = own_nats_server
    settings = RuntimeSettings(nats_url=server.url)
    async with compose(build_stand_in, settings=settings), Client(server.url, "acme") as client:
        asking = asyncio.create_task(client.ask("sleep 0.1", query_id="q1", budget_ms=10_000))
        await asyncio.sleep(0.05)
        server.kill()
        await asyncio.sleep(0.3)
        server.start()
        answer = await asyncio.wait_for(asking, 10)

    assert answer.query_id == "q1"
