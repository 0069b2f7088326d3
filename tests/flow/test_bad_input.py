"""Bad input, through the client and plain nats-py: a typed error or rejection each, and the services live on."""

import asyncio
import gzip
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from statistics import median
from typing import Any

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client as NatsClient
from nats.errors import MaxPayloadError

from fanfuse_client import Client, InvalidQuery, TooLarge
from fanfuse_contracts import headers, limits, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import RejectionCode, Stage, Status
from fanfuse_contracts.operations import DeadLetter
from fanfuse_contracts.plan import DecideReply
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
WHO = {"principal": {"id": "tester"}}
BLANKS = ["", " ", "\t\n", "\u3000", "\u200b", "\u200b\u2060\ufeff", "\u202e \u202c"]
_ids = itertools.count()


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def corpus(flow: Flow) -> None:
    await flow.index(TENANT, "docs", library(), FIELDS)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def caller(flow: Flow) -> AsyncIterator[NatsClient]:
    client = await nats.connect(flow.url)
    yield client
    await client.close()


@pytest.fixture(scope="module")
def taken_ms() -> list[float]:
    """Milliseconds from publishing to hearing each refusal."""
    return []


def query(**fields: Any) -> bytes:
    return json.dumps({"text": QUESTION} | WHO | fields).encode()


async def raw_ask(caller: NatsClient, body: bytes, tenant: str = TENANT, query_id: str | None = None) -> Answer:
    """What ten lines of nats-py do: subscribe, publish, wait."""
    query_id = query_id or f"raw-{next(_ids)}"
    listening = await caller.subscribe(subjects.query_answered(tenant, query_id), max_msgs=1)
    await caller.flush()
    await caller.jetstream().publish(subjects.query_submitted(tenant, query_id), body)
    return Answer.from_json((await listening.next_msg(timeout=20)).data)


INVALID, TOO_LARGE, EMPTY = RejectionCode.INVALID_QUERY, RejectionCode.TOO_LARGE, RejectionCode.EMPTY_QUERY
UNSUPPORTED = RejectionCode.UNSUPPORTED_FILTER
CASES: list[tuple[str, bytes, RejectionCode, str]] = [
    *((f"blank {text!r}", query(text=text), EMPTY, "text") for text in BLANKS),
    ("one megabyte of text", query(text="a" * 1_000_000), TOO_LARGE, "text"),
    ("one byte too much", query(text="a" * (limits.MAX_TEXT_BYTES + 1)), TOO_LARGE, "text"),
    ("no body", b"", INVALID, ""),
    ("not JSON", b"{not json", INVALID, ""),
    ("not UTF-8", b"\xff\xfe\x00", INVALID, ""),
    ("compressed", gzip.compress(query()), INVALID, ""),
    ("a list", b"[1, 2]", INVALID, ""),
    ("a filter 3,000 deep", b'{"text": "x", "filter": ' + b'{"not":' * 3_000 + b"{}" + b"}" * 3_001, INVALID, ""),
    ("null", b"null", INVALID, ""),
    ("no text", json.dumps(WHO).encode(), INVALID, "text"),
    ("unknown field", query(topk=3), INVALID, "topk"),
    ("tenant in the body", query(tenant="globex"), INVALID, "tenant"),
    ("text is a number", query(text=5), INVALID, "text"),
    ("top_k is a word", query(top_k="ten"), INVALID, "top_k"),
    ("top_k is true", query(top_k=True), INVALID, "top_k: Input should be a valid integer"),
    ("top_k is a number in quotes", query(top_k="3"), INVALID, "top_k: Input should be a valid integer"),
    ("top_k is 0", query(top_k=0), INVALID, "top_k"),
    ("top_k is over the limit", query(top_k=101), INVALID, "top_k"),
    ("budget is negative", query(budget_ms=-1), INVALID, "budget_ms"),
    ("unpaired surrogate", b'{"text": "\\ud83d"}', INVALID, ""),
    ("NUL", query(text="a\x00b"), INVALID, "text"),
    ("vector holds NaN", query(vector={"model": "m", "values": [1.0, float("nan")]}), INVALID, ""),
    ("vector is zero", query(vector={"model": "m", "values": [0.0, 0.0]}), INVALID, "vector"),
    ("no corpus pinned", query(corpora=[]), INVALID, "corpora"),
    ("corpus is no token", query(corpora=["docs.>"]), INVALID, "corpora"),
    ("corpus does not exist", query(corpora=["nowhere"]), RejectionCode.UNKNOWN_CORPUS, "nowhere"),
    ("nobody asks", query(principal=None), RejectionCode.NO_VISIBLE_CORPUS, "principal"),
    ("principal without id", query(principal={"id": ""}), INVALID, "principal"),
    ("unknown operator", query(filter={"field": "year", "op": "regexx", "value": "x"}), INVALID, "filter"),
    ("unknown metadata", query(filter={"field": "colour", "op": "eq", "value": "red"}), UNSUPPORTED, "colour"),
    ("metadata of another type", query(filter={"field": "year", "op": "eq", "value": "red"}), UNSUPPORTED, "year"),
]


@pytest.mark.parametrize(("body", "code", "named"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
async def test_a_bad_message_gets_its_typed_rejection(
    flow: Flow, caller: NatsClient, taken_ms: list[float], body: bytes, code: RejectionCode, named: str
) -> None:
    """CLS-01, CLS-07, TEN-02, TEN-06, NAT-06: what is wrong is said, with the field, to whoever published it."""
    before = time.perf_counter()
    answer = await raw_ask(caller, body)
    taken_ms.append((time.perf_counter() - before) * 1e3)
    assert (answer.status, answer.hits) == (Status.REJECTED, ())
    assert answer.rejection is not None
    assert answer.rejection.code is code, answer.rejection
    assert named in answer.rejection.message
    assert len(answer.rejection.message) < 2_000
    assert answer.coverage.expected == 0


async def test_refusals_are_quick(taken_ms: list[float], say: Callable[[str], None]) -> None:
    """A figure for people; the bound is one that a busy machine keeps. Alone it has nothing to measure."""
    if not taken_ms:
        pytest.skip("measures the refusals of the other tests of this file: run them with it")
    say(f"{len(taken_ms)} refusals heard after {median(taken_ms):.1f} ms (median), {max(taken_ms):.1f} ms (slowest)")
    assert median(taken_ms) < 1_000


async def test_an_unknown_tenant_has_no_corpus(caller: NatsClient) -> None:
    """TEN-06: fails closed."""
    answer = await raw_ask(caller, query(), tenant="nobody")
    assert answer.rejection is not None
    assert (answer.status, answer.rejection.code) == (Status.REJECTED, RejectionCode.NO_VISIBLE_CORPUS)


async def test_a_message_over_the_limit_of_the_bus_is_an_error_at_the_caller(caller: NatsClient) -> None:
    """NAT-05: the connection stays up."""
    with pytest.raises(MaxPayloadError):
        await raw_ask(caller, query(text="a" * 1_200_000))
    assert (await raw_ask(caller, query())).status is Status.COMPLETE


@pytest.mark.parametrize("token", ["UPPER", "ümlaut", "a$b", "x" * 65])
async def test_an_id_that_is_no_token_ends_as_a_dead_letter(flow: Flow, caller: NatsClient, token: str) -> None:
    """TEN-04: there is no subject to answer on, so operators are told; it is not delivered for ever."""
    await caller.publish(f"{subjects.ROOT}.query.submitted.{TENANT}.{token}", query())

    async def dead() -> DeadLetter | None:
        kept = await flow.operator.bus.last_of_each(streams.DEADLETTER.name, subjects.DEADLETTER)
        letters = [DeadLetter.from_json(message.data) for message in kept]
        return next((letter for letter in letters if letter.subject.endswith(f".{token}")), None)

    letter = await eventually(dead)
    assert letter is not None
    assert letter.stage is Stage.CLASSIFIER
    assert (await raw_ask(caller, query())).status is Status.COMPLETE


async def test_bad_input_is_refused_by_the_client_before_it_is_sent(flow: Flow) -> None:
    async with flow.client(TENANT) as client:
        before = await flow.stored_answers(TENANT)
        with pytest.raises(TooLarge):
            await client.ask("a" * 1_000_000)
        for fields in ({"topk": 3}, {"top_k": "ten"}, {"top_k": 0}, {"filter": {"field": "year"}}, {"vector": [1.0]}):
            with pytest.raises(InvalidQuery, match=next(iter(fields))):
                await client.ask(QUESTION, **fields)
        for text in ("\ud83d", "a\x00b"):
            with pytest.raises(InvalidQuery):
                await client.ask(text)
        for query_id in ("acme.>", "*", "a b", "a\r\nPUB x 0", "", "x" * 300):
            with pytest.raises(InvalidQuery, match="query id"):
                await client.ask(QUESTION, query_id=query_id)
        assert await flow.stored_answers(TENANT) == before
    for tenant in ("acme.>", "*", "acme beta", "acme.support", "acme\r\nPUB x 0", "", "x" * 300):
        with pytest.raises(InvalidTokenError):
            Client(flow.url, tenant)


async def test_what_only_the_services_can_know_comes_as_an_answer(flow: Flow) -> None:
    async with flow.client(TENANT) as client, flow.client("nobody") as nobody:
        blank, unknown, foreign = await asyncio.gather(
            client.ask(" \u200b"), client.ask(QUESTION, corpora=("nowhere",)), nobody.ask(QUESTION)
        )
        assert (await client.ask(QUESTION)).status is Status.COMPLETE
    codes = [answer.rejection.code for answer in (blank, unknown, foreign) if answer.rejection]
    assert codes == [EMPTY, RejectionCode.UNKNOWN_CORPUS, RejectionCode.NO_VISIBLE_CORPUS]


async def test_a_query_id_used_twice_gives_the_first_answer(flow: Flow, caller: NatsClient) -> None:
    """NAT-07: one answer per query id, whatever is published under it later."""
    async with flow.client(TENANT) as client, flow.ledger(TENANT) as ledger:
        first = await client.ask(QUESTION, query_id="twice")
        assert await client.ask("another text", query_id="twice") == first
        assert ledger.heard["twice"] == 1
        # Without a message id the server takes it for a new message: still no second answer.
        assert await raw_ask(caller, query(text="another text"), query_id="twice") == first
        assert await client.stored("twice") == first


@pytest.mark.parametrize("stage", ["submitted", "classifier", "corpus-router"])
async def test_a_tenant_cannot_keep_a_query_of_another_back(flow: Flow, caller: NatsClient, stage: str) -> None:
    """NAT-07: whoever knows the query id of another tenant may send message ids that look like those of its query."""
    query_id = f"known-{stage}"
    taken = {headers.MESSAGE_ID: streams.message_id(TENANT, query_id, stage)}
    await caller.jetstream().publish(subjects.query_submitted("evil", "x"), query(), headers=taken)
    async with flow.client(TENANT) as client:
        answer = await client.ask(QUESTION, query_id=query_id)
    assert answer.status in {Status.COMPLETE, Status.PARTIAL}, answer.rejection


async def test_a_message_id_used_twice_is_stored_once(flow: Flow, caller: NatsClient) -> None:
    js = caller.jetstream()
    named = {headers.MESSAGE_ID: streams.message_id(TENANT, "again", "submitted")}
    async with flow.ledger(TENANT) as ledger:
        acks = [await js.publish(subjects.query_submitted(TENANT, "again"), query(), headers=named) for _ in range(3)]
        assert [bool(ack.duplicate) for ack in acks] == [False, True, True]
        await eventually(lambda: ledger.heard["again"])
        assert await raw_ask(caller, query(text="the next one")) is not None
        assert ledger.heard["again"] == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", INVALID),
        (b"{not json", INVALID),
        (b'{"query": {"text": "x", "topk": 1}}', INVALID),
        (b'{"query": {"text": " "}}', EMPTY),
        (json.dumps({"query": {"text": "a" * 10_000}}).encode(), TOO_LARGE),
        (b'{"query": {"text": "x"}}', RejectionCode.NO_VISIBLE_CORPUS),
    ],
)
async def test_a_bad_request_for_a_decision_is_answered(caller: NatsClient, body: bytes, code: RejectionCode) -> None:
    reply = DecideReply.from_json((await caller.request(subjects.query_decide(TENANT), body, timeout=10)).data)
    assert reply.plan is None
    assert reply.rejection is not None
    assert reply.rejection.code is code


async def test_good_queries_behind_bad_ones_are_answered(flow: Flow, caller: NatsClient) -> None:
    """NAT-06: nothing bad is delivered again and again before them."""
    bad = [f"bad-{number}" for number in range(len(CASES))]
    async with flow.client(TENANT) as client, flow.ledger(TENANT) as ledger:
        for query_id, case in zip(bad, CASES, strict=True):
            await caller.publish(subjects.query_submitted(TENANT, query_id), case[1])
        answers = [answer async for _, answer in client.stream([QUESTION] * 20, concurrency=20)]
        assert [answer.status for answer in answers] == [Status.COMPLETE] * 20
        await eventually(lambda: all(ledger.heard[query_id] for query_id in bad))
        assert {ledger.heard[query_id] for query_id in bad} == {1}
    assert await eventually(lambda: _drained(flow))


async def _drained(flow: Flow) -> bool:
    return (await flow.operator.bus.js.stream_info(streams.QUERIES.name)).state.messages == 0
