"""A dead letter on the bus: listed, sent again to a mended service once its answer is gone, dropped; never doubled."""

import asyncio
from collections import Counter

import pytest
from nats.aio.client import Client

from fanfuse_all_in_one.dead_letters import UnknownLetterError, drop_letter, list_letters, retry_letter
from fanfuse_all_in_one.retrying import NotRetriedError
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.enums import RejectionCode, Stage
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.answers import publish_refusal
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Mendable:
    """A handler that fails until it is mended."""

    def __init__(self) -> None:
        self.mended = False
        self.seen: list[dict[str, str]] = []

    async def __call__(self, context: Context, delivery: Delivery, query: SubmittedQuery) -> None:
        if not self.mended:
            raise ValueError("broken inside")
        self.seen.append(dict(delivery.headers))
        rejection = Rejection(code=RejectionCode.NO_LANE, message=query.text)
        await publish_refusal(
            context.bus, context.metrics, delivery.tenant, delivery.query_id, rejection, delivery.stored_ns
        )


async def ids(bus: Bus, **filters: object) -> list[int]:
    asked: dict = {"tenant": None, "stage": None, "last": 10} | filters
    return [one.id for one in (await list_letters(bus, **asked)).letters]


@pytest.fixture
def retried_soon(monkeypatch):
    monkeypatch.setattr("fanfuse_contracts.limits.RETRY_DELAYS_S", (0.02, 0.02, 0.02))


async def test_a_letter_is_refused_while_answered_and_sent_again_when_the_answer_is_gone(
    nats_server: NatsServer, caller: Client, run_service, retried_soon
) -> None:
    handler = Mendable()
    async with run_service(nats_server, handler) as process:
        bus = process.context.bus
        sent = {
            "Nats-Msg-Id": "acme.q1.submitted.0",
            "traceparent": TRACE,
            "Fanfuse-Principal": "a.b.c",
        }
        await caller.jetstream().publish(subjects.query_submitted("acme", "q1"), b'{"text":"hello"}', headers=sent)
        (letter,) = await eventually(lambda: ids(bus))
        with pytest.raises(NotRetriedError, match=r"q1 of acme is answered \(failed\)"):
            await retry_letter(bus, letter)

        handler.mended = True
        await caller.jetstream().purge_stream(streams.ANSWERS.name, subject=subjects.query_fused("acme", "q1"))
        resent = await retry_letter(bus, letter)
        await eventually(lambda: handler.seen)

        assert resent.message_id == "acme.q1.submitted.1"
        (headers,) = handler.seen
        assert headers["Nats-Msg-Id"] == "acme.q1.submitted.1"
        assert headers["traceparent"] == TRACE
        assert "Fanfuse-Principal" not in headers
        assert await ids(bus) == []
        with pytest.raises(UnknownLetterError):
            await retry_letter(bus, letter)


async def test_two_operators_who_retry_at_once_send_one_message(
    nats_server: NatsServer, caller: Client, run_service, retried_soon
) -> None:
    handler = Mendable()
    async with run_service(nats_server, handler) as process:
        bus = process.context.bus
        await caller.jetstream().publish(subjects.query_submitted("acme", "q1"), b'{"text":"hello"}')
        (letter,) = await eventually(lambda: ids(bus))
        handler.mended = True
        await caller.jetstream().purge_stream(streams.ANSWERS.name, subject=subjects.query_fused("acme", "q1"))
        before = (await caller.jetstream().stream_info(streams.QUERIES.name)).state.last_seq
        ends = await asyncio.gather(*(retry_letter(bus, letter) for _ in range(2)), return_exceptions=True)
        await eventually(lambda: handler.seen)

        after = (await caller.jetstream().stream_info(streams.QUERIES.name)).state.last_seq
        assert after - before == 1
        assert Counter(type(end).__name__ for end in ends)["Resend"] >= 1


async def test_filters_and_the_last_are_exact_and_drop_takes_one(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    async with run_service(nats_server, Mendable()) as process:
        bus = process.context.bus
        for tenant in ("acme", "acme2", "acme"):
            await caller.jetstream().publish(subjects.query_submitted(tenant, "bad"), b"no json")
        first, second, third = await eventually(lambda: _three(bus))

        assert await ids(bus, tenant="acme") == [first, third]
        assert await ids(bus, tenant="acme2", stage=Stage.CLASSIFIER) == [second]
        assert await ids(bus, stage=Stage.FUSER) == []
        found = await list_letters(bus, tenant="acme", stage=None, last=1)
        assert ([one.id for one in found.letters], found.matching) == ([third], 2)
        await drop_letter(bus, second)
        assert await ids(bus) == [first, third]
        with pytest.raises(UnknownLetterError):
            await drop_letter(bus, second)


async def _three(bus: Bus) -> list[int]:
    found = await ids(bus)
    return found if len(found) == 3 else []
