"""Accepted means answered: ack after effect, retries with delay, dead letters, no poison (NAT-06, NAT-07)."""

import asyncio
import gzip
import json
import time
from base64 import b64decode
from collections import Counter

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import api

from fanfuse_contracts import flow, limits, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import RejectionCode, Stage, Status
from fanfuse_contracts.operations import DeadLetter, RouteAudited
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.answers import publish_refusal, refusal
from fanfuse_runtime.context import Context
from fanfuse_runtime.deadletters import MAX_UNDECODABLE_BYTES, UNDECODABLE
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.errors import PublishRefusedError, RetryError
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually

GOOD = b'{"text":"hello"}'
PATIENCE_S = 30.0


class Answers:
    """Collects answers as a subscriber hears them."""

    def __init__(self) -> None:
        self.by_id: dict[str, list[Answer]] = {}

    async def listen(self, client: Client) -> "Answers":
        async def on_answer(msg: Msg) -> None:
            answer = Answer.from_json(msg.data)
            self.by_id.setdefault(answer.query_id, []).append(answer)

        await client.subscribe(subjects.answered_of_tenant("acme"), cb=on_answer)
        await client.flush()
        return self

    async def wait_for(self, query_id: str) -> Answer:
        deadline = time.monotonic() + PATIENCE_S
        while query_id not in self.by_id:
            assert time.monotonic() < deadline, f"{query_id} was not answered"
            await asyncio.sleep(0.005)
        return self.by_id[query_id][0]


async def answer_with(context: Context, delivery: Delivery, text: str) -> None:
    rejection = Rejection(code=RejectionCode.NO_LANE, message=text)
    await publish_refusal(
        context.bus, context.metrics, delivery.tenant, delivery.query_id, rejection, delivery.stored_ns
    )


async def echo(context: Context, delivery: Delivery, query: SubmittedQuery) -> None:
    await answer_with(context, delivery, query.text)


async def submit(client: Client, query_id: str, body: bytes, headers: dict[str, str] | None = None) -> None:
    await client.jetstream().publish(subjects.query_submitted("acme", query_id), body, headers=headers)


async def queue_is_empty(client: Client) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        info = await client.jetstream().stream_info(streams.QUERIES.name)
        if info.state.messages == 0:
            return True
        await asyncio.sleep(0.02)
    return False


async def test_undecodable_messages_are_answered_at_once_and_block_nobody(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    bad = {
        "not-json": b"hello",
        "array": b"[1,2]",
        "wrong-type": b'{"text":7}',
        "missing": b"{}",
        "bytes": b"\xff\xfe",
        "extra": b'{"text":"a","tenant":"globex"}',
        "gzip": gzip.compress(GOOD),
        "surrogate": b'{"text":"\\ud83d"}',
        "long": b"x" * 500_000,
    }
    async with run_service(nats_server, echo) as process:
        answers = await Answers().listen(caller)
        for query_id, body in bad.items():
            await submit(caller, query_id, body)
        for number in range(20):
            await submit(caller, f"good-{number}", GOOD)
        for query_id in bad:
            answer = await answers.wait_for(query_id)
            assert answer.status is Status.REJECTED
            assert answer.rejection is not None
            assert answer.rejection.code is RejectionCode.INVALID_QUERY
        for number in range(20):
            assert (await answers.wait_for(f"good-{number}")).status is Status.FAILED
        assert await queue_is_empty(caller)
        letters = await process.context.bus.last_of_each(streams.DEADLETTER.name, subjects.DEADLETTER)
        assert letters
        letter = DeadLetter.from_json(letters[-1].data)
        assert letter.reason == UNDECODABLE
        assert letter.deliveries == 1
        scraped = process.metrics.exposition().decode()
        assert f'fanfuse_deadletters_total{{stage="classifier"}} {len(bad)}.0' in scraped


async def test_no_tenant_drives_out_the_dead_letters_of_another(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    async with run_service(nats_server, echo) as process:
        js, evil = caller.jetstream(), subjects.deadletter(Stage.CLASSIFIER, "evil")
        acme = subjects.deadletter(Stage.CLASSIFIER, "acme")
        await submit(caller, "long", b"x" * 500_000)
        await eventually(lambda: process.context.bus.last_of_each(streams.DEADLETTER.name, acme))
        for _ in range(limits.DEADLETTERS_PER_SUBJECT + 5):
            await caller.publish(evil, b"{}")
        await js.publish(evil, b"{}")
        state = (await js.stream_info(streams.DEADLETTER.name, subjects_filter=">")).state
        assert state.subjects == {acme: 1, evil: limits.DEADLETTERS_PER_SUBJECT}
        (letter,) = await process.context.bus.last_of_each(streams.DEADLETTER.name, acme)
        kept = b64decode(DeadLetter.from_json(letter.data).payload_base64)
        assert len(kept) == MAX_UNDECODABLE_BYTES, "anybody can send a lot of what can't be read"


async def test_a_handler_that_raises_is_tried_again_after_a_delay(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    tries: list[float] = []

    async def fails_twice(context: Context, delivery: Delivery, query: SubmittedQuery) -> None:
        tries.append(time.monotonic())
        if len(tries) < 3:
            raise RetryError("not yet")
        await answer_with(context, delivery, query.text)

    async with run_service(nats_server, fails_twice):
        answers = await Answers().listen(caller)
        await submit(caller, "q1", GOOD)
        await answers.wait_for("q1")
        assert await queue_is_empty(caller)
    assert len(tries) == 3
    assert tries[1] - tries[0] > 0.1
    assert tries[2] - tries[1] > 0.5


async def test_a_message_that_always_fails_is_dead_lettered_and_its_query_answered(
    nats_server: NatsServer, caller: Client, run_service, monkeypatch
) -> None:
    monkeypatch.setattr("fanfuse_contracts.limits.RETRY_DELAYS_S", (0.02, 0.02, 0.02))
    tries = Counter[str]()

    async def always_fails(_context: Context, delivery: Delivery, _query: SubmittedQuery) -> None:
        tries[delivery.query_id] += 1
        raise ValueError("broken inside")

    async with run_service(nats_server, always_fails) as process:
        answers = await Answers().listen(caller)
        await submit(caller, "q1", GOOD, {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
        answer = await answers.wait_for("q1")
        assert await queue_is_empty(caller)
        assert answer.status is Status.FAILED
        assert answer.rejection is not None
        assert answer.rejection.code is RejectionCode.INTERNAL
        assert tries["q1"] == streams.CLASSIFIER_CONSUMER.max_deliver
        stored = await process.context.bus.last_of_each(streams.DEADLETTER.name, subjects.DEADLETTER)
        letter = DeadLetter.from_json(stored[0].data)
        assert letter.reason == "max_deliveries"
        assert "broken inside" in letter.detail
        assert "traceparent" in letter.headers


async def test_the_same_text_asked_twice_is_answered_twice(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    async with run_service(nats_server, echo):
        answers = await Answers().listen(caller)
        await submit(caller, "q1", GOOD, {"Nats-Msg-Id": streams.message_id("acme", "q1", "submitted")})
        await submit(caller, "q2", GOOD, {"Nats-Msg-Id": streams.message_id("acme", "q2", "submitted")})
        first, second = await answers.wait_for("q1"), await answers.wait_for("q2")
        assert (first.query_id, second.query_id) == ("q1", "q2")


async def test_a_used_query_id_gets_the_stored_answer_again(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    async with run_service(nats_server, echo):
        answers = await Answers().listen(caller)
        await submit(caller, "q1", b'{"text":"first"}')
        first = await answers.wait_for("q1")
        await submit(caller, "q1", b'{"text":"second"}')
        deadline = time.monotonic() + PATIENCE_S
        while len(answers.by_id["q1"]) < 2:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        assert answers.by_id["q1"][1] == first
        state = (await caller.jetstream().stream_info(streams.ANSWERS.name)).state
        assert state.messages == 1


async def test_a_long_handler_keeps_its_message(nats_server: NatsServer, caller: Client, run_service) -> None:
    handled = Counter[str]()

    async def slow(context: Context, delivery: Delivery, query: SubmittedQuery) -> None:
        handled[delivery.query_id] += 1
        await asyncio.sleep(2.5)
        await answer_with(context, delivery, query.text)

    async with run_service(nats_server, slow, in_flight=32):
        answers = await Answers().listen(caller)
        for number in range(32):
            await submit(caller, f"q{number}", GOOD)
        for number in range(32):
            await answers.wait_for(f"q{number}")
    assert set(handled.values()) == {1}


async def test_two_processes_share_a_durable_and_each_message_is_handled_once(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    by_instance: dict[str, Counter[str]] = {}

    async def note(context: Context, delivery: Delivery, query: SubmittedQuery) -> None:
        by_instance.setdefault(context.instance, Counter())[delivery.query_id] += 1
        await asyncio.sleep(0.005)
        await answer_with(context, delivery, query.text)

    async with run_service(nats_server, note, in_flight=4), run_service(nats_server, note, in_flight=4):
        answers = await Answers().listen(caller)
        await asyncio.gather(*(submit(caller, f"q{number}", GOOD) for number in range(100)))
        for number in range(100):
            await answers.wait_for(f"q{number}")
    handled = sum(by_instance.values(), Counter())
    assert len(by_instance) == 2
    assert set(handled.values()) == {1}
    assert len(handled) == 100


async def test_readiness_and_metrics_are_served(nats_server: NatsServer, run_service) -> None:
    async with run_service(nats_server, echo) as process:
        reader, writer = await asyncio.open_connection("127.0.0.1", process.ops.port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        response = (await reader.read()).decode()
        writer.close()
        assert " 200 " in response.splitlines()[0]
        assert json.loads(response.split("\r\n\r\n", 1)[1]) == {"status": "ok"}


async def test_a_full_stream_refuses_at_once_and_a_second_answer_is_a_duplicate_without_any_window(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    async with run_service(nats_server, echo) as process:
        bus, js = process.context.bus, caller.jetstream()
        audit = RouteAudited(tenant="acme", query_id="q1", submitted_ns=1)
        config = (await js.stream_info(streams.AUDIT.name)).config
        config.max_msgs, config.discard = 1, api.DiscardPolicy.NEW
        await js.update_stream(config)
        await bus.publish(flow.AUDITED, subjects.audit("acme"), audit, "a1")
        began = time.monotonic()
        with pytest.raises(PublishRefusedError, match="maximum messages exceeded"):
            await bus.publish(flow.AUDITED, subjects.audit("acme"), audit, "a2")
        assert time.monotonic() - began < limits.PUBLISH_TIMEOUT_S / 2

        answer = refusal("acme", "q1", Rejection(code=RejectionCode.NO_LANE, message="x"), submitted_ns=1)
        subject = subjects.query_fused("acme", "q1")
        assert not (await bus.publish(flow.FUSED, subject, answer, "one")).duplicate
        assert (await bus.publish(flow.FUSED, subject, answer, "another id")).duplicate
