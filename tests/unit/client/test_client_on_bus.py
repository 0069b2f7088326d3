"""The client against a real nats-server and a stand-in service that answers what the text of the query asks for."""

import asyncio

import nats
import pytest

from fanfuse_client import AnswerTimeout, Client, InvalidQuery, NotConnected, Overloaded, TooLarge, Unavailable
from fanfuse_contracts import headers, subjects
from fanfuse_contracts.addresses import InvalidAddressError
from fanfuse_contracts.enums import Status
from fanfuse_contracts.plan import DecideReply
from fanfuse_contracts.query import Principal
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually
from tests.unit.client.stand_in import SEEN, build_stand_in


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


async def test_an_answered_query_id_is_answered_from_the_store_and_nothing_is_published(client):
    first = await client.ask("a", query_id="q1")
    assert await client.ask("b", query_id="q1") == first
    assert len(SEEN) == 1


async def test_no_submission_has_an_id_that_can_be_known_before(client):
    await client.ask("a", query_id="q1")
    await client.submit("b", query_id="q2")
    await eventually(lambda: len(SEEN) == 2)
    ids = [carried[headers.MESSAGE_ID] for _, _, carried in SEEN]
    assert [one.rpartition(".")[0] for one in ids] == ["acme.q1.submitted", "acme.q2.submitted"]
    assert all(len(one.rpartition(".")[2]) == 32 for one in ids)


async def test_principal_of_the_client_stands_in_only_where_the_query_states_none(process, nats_server):
    async with Client(nats_server.url, "acme", principal=Principal(id="anna")) as client:
        await client.ask("a")
        await client.ask("b", principal=Principal(id="ben"))

    assert [query.principal and query.principal.id for _, query, _ in SEEN] == ["anna", "ben"]


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
    queries = [("slow", "sleep 1.5"), *((f"q{n}", "hi") for n in range(20))]

    order = [query_id async for query_id, _ in client.stream(queries, concurrency=4)]

    assert order[-1] == "slow"
    assert sorted(order) == sorted(["slow", *(f"q{n}" for n in range(20))])


async def test_stream_does_not_wait_for_a_slow_source(client):
    async def source():
        yield "first"
        await asyncio.sleep(600)
        yield "second"

    async with asyncio.timeout(30):
        async for _query_id, answer in client.stream(source(), concurrency=8):  # noqa: B007 - read below
            break

    assert answer.status is Status.COMPLETE


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


def test_an_address_that_no_bus_has_is_refused_before_anything_is_tried():
    with pytest.raises(InvalidAddressError, match=r"http://\*\*\*@bus:4222 is no address of a bus \(NATS_URL\)"):
        Client("nats://one:4222,http://me:secret@bus:4222", "acme")
