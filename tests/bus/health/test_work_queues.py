"""Messages of a work queue by sequence: what another janitor deleted first is no error."""

import pytest

from fanfuse_contracts import streams, subjects
from fanfuse_health.adapters.queues import StreamQueues
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.errors import PublishRefusedError
from fanfuse_runtime.setup import ensure_stream


@pytest.fixture
async def queues(nats_server, client):
    await ensure_stream(client.jetstream(), streams.QUERIES)
    for number in range(1, 5):
        await client.jetstream().publish(subjects.query_submitted("acme", f"q{number}"), b"{}")
    return StreamQueues(Bus(client, BrokerClock(), "janitor"))


@pytest.mark.parametrize("sequence", [1, 2, 4, 99], ids=["first", "between others", "last", "never stored"])
async def test_two_janitors_may_delete_the_same_message(queues, sequence):
    await queues.delete(streams.QUERIES.name, sequence)
    await queues.delete(streams.QUERIES.name, sequence)

    assert await queues.read(streams.QUERIES.name, sequence) is None
    found = await queues.next(streams.QUERIES.name, subjects.QUERY_SUBMITTED, 1)
    assert found is not None
    assert found.sequence == (2 if sequence == 1 else 1)


async def test_a_deletion_that_is_not_permitted_is_told(queues, client):
    await client.jetstream().add_stream(name="KEPT", subjects=["kept"], deny_delete=True)
    await client.jetstream().publish("kept", b"{}")

    with pytest.raises(PublishRefusedError, match="delete not permitted"):
        await queues.delete("KEPT", 1)
