"""How many messages a stream holds on some subjects, by one plain request."""

import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from fanfuse_contracts import streams, subjects
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.setup import ensure_stream


async def test_only_what_matches_is_counted(caller: Client) -> None:
    bus = Bus(caller, BrokerClock(), "test")
    await ensure_stream(bus.js, streams.QUERIES)
    assert await bus.held(streams.QUERIES.name, subjects.query_planned_of("counted")) == 0
    for query_id in ("q1", "q2", "q3"):
        await bus.js.publish(subjects.query_planned("counted", query_id), b"{}")
    await bus.js.publish(subjects.query_planned("another", "q1"), b"{}")
    assert await bus.held(streams.QUERIES.name, subjects.query_planned_of("counted")) == 3


async def test_a_stream_that_does_not_exist_is_an_error_of_the_client_library(caller: Client) -> None:
    bus = Bus(caller, BrokerClock(), "test")
    with pytest.raises(NatsError, match="stream not found"):
        await bus.held("NONE", "none.>")
