"""A stream that stores and says nothing: the query is delivered again and passed on once, and not refused."""

import pytest

from fanfuse_classifier.service import build
from fanfuse_contracts import flow, limits, streams, subjects
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.errors import BusError, PublishRefusedError, UnacknowledgedError
from fanfuse_testing.flow import eventually
from tests.bus.classifier.asking import classified, holds, messages


@pytest.fixture
def service():
    return build


async def _set_silent(client, silent):
    js = client.jetstream()
    config = (await js.stream_info(streams.QUERIES.name)).config
    await js.update_stream(config=config.evolve(no_ack=silent))


async def test_a_query_whose_step_was_not_acknowledged_is_passed_on_once(process, client, monkeypatch):
    monkeypatch.setattr(limits, "PUBLISH_TIMEOUT_S", 0.3)
    await _set_silent(client, True)
    body = SubmittedQuery(text="x", budget_ms=limits.MAX_BUDGET_MS).to_json()
    await client.publish(subjects.query_submitted("acme", "q1"), body)
    first = await classified(client, "q1")
    await _set_silent(client, False)

    async def acknowledged():
        return (await client.jetstream().consumer_info(streams.QUERIES.name, "classifier")).num_ack_pending == 0

    assert await eventually(acknowledged)
    assert await holds(client, streams.QUERIES.name, 1)
    assert await classified(client, "q1") == first
    assert await messages(client, streams.ANSWERS.name) == 0
    counted = process.metrics.registry.get_sample_value
    assert counted("fanfuse_redelivered_total", {"stage": "classifier"}) >= 1


async def test_silence_and_refusal_are_told_apart(process, client, monkeypatch):
    monkeypatch.setattr(limits, "PUBLISH_TIMEOUT_S", 0.3)
    bus = Bus(client, BrokerClock(), "test")
    query, subject = SubmittedQuery(text="x"), subjects.query_planned("acme", "q1")

    async def error_of_publishing() -> type[BusError]:
        with pytest.raises(BusError) as raised:
            await bus.publish(flow.PLANNED, subject, query, "one")
        return raised.type

    await _set_silent(client, True)
    assert await error_of_publishing() is UnacknowledgedError
    await client.jetstream().delete_stream(streams.QUERIES.name)
    assert await error_of_publishing() is PublishRefusedError
