"""Messages whose deliveries are used up: dead-lettered, answered, deleted; told by advisory or found by the sweep."""

import base64

import pytest

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.answer import Answer, Coverage
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, RejectionCode, Stage, Status
from fanfuse_contracts.operations import DeadLetter
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_health.adapters.queues import StreamQueues
from fanfuse_health.domain import sweep
from fanfuse_health.domain.repair import MaxDeliveries
from fanfuse_health.janitor import Janitor
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.setup import ensure_consumer

POOL = streams.pool_consumer(Kind.VECTOR, "main")
COMMAND = RetrieveCommand(
    tenant="acme", query_id="q1", lane="docs-vector", corpus="docs", kind=Kind.VECTOR, backend="main", text="hello",
    window=10, filter_digest="0" * 16, submitted_ns=5, budget_ms=2_000,
)  # fmt: skip


async def submit(bus, query_id="q1"):
    subject = subjects.query_submitted("acme", query_id)
    return await bus.publish(flow.SUBMITTED, subject, SubmittedQuery(text="hello"), f"acme.{query_id}")


async def use_up(bus, spec):
    """Take every delivery of one message and give each back, as processes that die one after the other."""
    pull = await bus.js.pull_subscribe_bind(spec.durable, spec.stream)
    for _ in range(spec.max_deliver):
        (msg,) = await pull.fetch(1, timeout=30)
        await msg.nak()
    with pytest.raises(TimeoutError):
        await pull.fetch(1, timeout=0.3)
    await pull.unsubscribe()


async def messages(bus, stream):
    return (await bus.js.stream_info(stream)).state.messages


@pytest.fixture
def stored(deployment, eventually):
    """The message on a subject, as soon as there is one."""

    async def read(model, stream, subject):
        return model.from_json((await eventually(lambda: deployment.bus.last(stream, subject))).data)

    return read


@pytest.fixture
def emptied(deployment, eventually):
    async def is_empty(stream):
        return await messages(deployment.bus, stream) == 0

    return lambda stream: eventually(lambda: is_empty(stream))


async def test_a_query_nobody_could_handle_is_answered(deployment, stored, emptied):
    bus = deployment.bus
    await submit(bus)
    await use_up(bus, streams.CLASSIFIER_CONSUMER)
    assert await messages(bus, "QUERIES") == 1, "the server keeps it and tells nobody but the advisory"
    async with deployment.health(replicas=2):
        answer = await stored(Answer, "ANSWERS", subjects.query_fused("acme", "q1"))
        letter = await stored(DeadLetter, "DEADLETTER", subjects.deadletter(Stage.CLASSIFIER, "acme"))
        await emptied("QUERIES")
        await emptied("ADVISORIES")
    assert answer.status is Status.FAILED
    assert answer.rejection.code is RejectionCode.INTERNAL
    assert (letter.reason, letter.deliveries) == ("max_deliveries", 5)
    assert SubmittedQuery.from_json(base64.b64decode(letter.payload_base64)).text == "hello"


async def test_a_command_no_worker_survived_fails_its_lane(deployment, stored, emptied):
    bus = deployment.bus
    await ensure_consumer(bus.js, POOL)
    subject = subjects.retrieve(Kind.VECTOR, "main", "acme", "docs")
    await bus.publish(flow.RETRIEVE, subject, COMMAND, "acme.q1.retrieve.docs-vector.0")
    await use_up(bus, POOL)
    async with deployment.health():
        reply = await stored(LaneReply, "RETRIEVED", subjects.retrieved("acme", "q1", "docs-vector"))
        letter = await stored(DeadLetter, "DEADLETTER", subjects.deadletter(Stage.BACKEND_WORKERS, "acme"))
        await emptied("RETRIEVE")
    assert (reply.outcome, reply.failure.kind) == (LaneOutcome.FAILED, FailureKind.UNAVAILABLE)
    assert letter.subject == subject


async def test_repairing_twice_is_repairing_once(deployment):
    bus = deployment.bus
    await submit(bus)
    await use_up(bus, streams.CLASSIFIER_CONSUMER)
    janitor = Janitor(StreamQueues(bus), bus, Metrics())
    message = await StreamQueues(bus).read("QUERIES", 1)
    assert message is not None
    for _ in range(2):
        await janitor._repair(Stage.CLASSIFIER, "QUERIES", message, 5)
    counts = [await messages(bus, stream) for stream in ("ANSWERS", "DEADLETTER", "QUERIES")]
    assert counts == [1, 1, 0]


async def test_a_query_that_was_answered_meanwhile_keeps_its_answer(deployment, stored, emptied):
    bus = deployment.bus
    await submit(bus)
    await use_up(bus, streams.CLASSIFIER_CONSUMER)
    first = Answer(tenant="acme", query_id="q1", status=Status.COMPLETE, coverage=Coverage(expected=0))
    await bus.publish(flow.FUSED, subjects.query_fused("acme", "q1"), first, streams.answer_id("acme", "q1"))
    async with deployment.health():
        await emptied("QUERIES")
        answer = await stored(Answer, "ANSWERS", subjects.query_fused("acme", "q1"))
    assert answer.status is Status.COMPLETE


async def test_the_sweep_finds_what_no_advisory_told(deployment, stored, monkeypatch):
    monkeypatch.setattr(sweep, "LOST_AFTER_S", 0.0)
    bus = deployment.bus
    await submit(bus, "lost")
    await use_up(bus, streams.CLASSIFIER_CONSUMER)
    await bus.js.purge_stream("ADVISORIES")
    await submit(bus, "waiting")
    janitor = Janitor(StreamQueues(bus), bus, Metrics())
    consumers = (streams.CLASSIFIER_CONSUMER, streams.FUSER_CONSUMER, POOL)
    assert await janitor.sweep(consumers) == 0, "one look proves nothing"
    assert await janitor.sweep(consumers) == 1
    assert await janitor.sweep(consumers) == 0
    answer = await stored(Answer, "ANSWERS", subjects.query_fused("acme", "lost"))
    assert answer.status is Status.FAILED
    assert await messages(bus, "QUERIES") == 1, "what was never delivered is left to its stage"


async def test_a_young_message_is_left_alone(deployment):
    bus = deployment.bus
    await submit(bus)
    await use_up(bus, streams.CLASSIFIER_CONSUMER)
    janitor = Janitor(StreamQueues(bus), bus, Metrics())
    assert [await janitor.sweep((streams.CLASSIFIER_CONSUMER,)) for _ in range(2)] == [0, 0]


async def test_an_advisory_for_a_message_that_is_gone_is_done(deployment):
    janitor = Janitor(StreamQueues(deployment.bus), deployment.bus, Metrics())
    await janitor.on_advisory(MaxDeliveries(stream="QUERIES", consumer="fuser", stream_seq=99))
    await StreamQueues(deployment.bus).delete("QUERIES", 99)
    assert await messages(deployment.bus, "DEADLETTER") == 0
