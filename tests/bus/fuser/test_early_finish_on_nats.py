"""An early answer on a real broker: stored first, then everybody is told; no replay changes it."""

import asyncio
import time

import nats
import pytest
from nats.aio.client import Client

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import LaneOutcome, RejectionCode, Status
from fanfuse_contracts.plan import QueryPlanned
from fanfuse_fuser.service import build
from fanfuse_runtime.compose import compose
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually
from fanfuse_testing.nats import _session_server, nats_server
from fanfuse_testing.samples import counted
from tests.unit.fuser.fuser_builders import TENANT, failed, hits, lane, planned, reply

__all__ = ["_session_server", "nats_server"]

KEYWORD, MAY, MUST = lane("keyword"), lane("vector", requirement="may"), lane("graph", requirement="must")


class Bystander:
    """Hears answers and cancellations in their order, and stands for router and workers."""

    def __init__(self, nc: Client) -> None:
        self.nc = nc
        self.heard: list[tuple[str, str]] = []
        self.answers: dict[str, Answer] = {}

    async def listen(self) -> None:
        async def on_message(msg) -> None:
            stage, query_id = msg.subject.split(".")[-3], subjects.parse_query(msg.subject).query_id
            self.heard.append((stage, query_id))
            if stage == "answered":
                self.answers[query_id] = Answer.from_json(msg.data)

        for pattern in (subjects.answered_of_tenant(TENANT), subjects.QUERY_CANCELLED):
            await self.nc.subscribe(pattern, cb=on_message)
        await self.nc.flush()

    async def plan(self, query_id: str, *lanes) -> QueryPlanned:
        made = planned(lanes, budget_ms=20_000, include_text=False)
        made = made.model_copy(update={"query_id": query_id, "submitted_ns": time.time_ns()})
        await self.publish(made, 0)
        return made

    async def publish(self, made: QueryPlanned, attempt: int) -> None:
        header = {"Nats-Msg-Id": streams.message_id(TENANT, made.query_id, "planned", attempt=attempt)}
        subject = subjects.query_planned(TENANT, made.query_id)
        await self.nc.jetstream().publish(subject, made.to_json(), headers=header)

    async def reply(self, query_id: str, one) -> None:
        body = one.model_copy(update={"query_id": query_id}).to_json()
        await self.nc.jetstream().publish(subjects.retrieved(TENANT, query_id, one.lane), body)

    async def answer(self, query_id: str) -> Answer:
        await eventually(lambda: query_id in self.answers)
        return self.answers[query_id]

    async def drained(self) -> None:
        async def empty() -> bool:
            return (await self.nc.jetstream().stream_info(streams.QUERIES.name)).state.messages == 0

        await eventually(empty)


@pytest.fixture
async def around(nats_server: NatsServer):
    async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url, drain_timeout_s=1.0)) as process:
        client = await nats.connect(nats_server.url)
        bystander = Bystander(client)
        await bystander.listen()
        yield bystander, process
        await client.close()


async def test_the_answer_is_stored_before_work_is_called_off(around):
    bystander, process = around
    made = await bystander.plan("q1", KEYWORD, MAY)
    await bystander.reply("q1", reply(KEYWORD, hits("a")))
    answer = await bystander.answer("q1")
    await eventually(lambda: ("cancelled", "q1") in bystander.heard)
    assert bystander.heard == [("answered", "q1"), ("cancelled", "q1")]
    assert answer.status is Status.COMPLETE
    assert answer.coverage.count(LaneOutcome.NOT_WAITED) == 1
    await bystander.drained()

    # Its reply, a second delivery of the plan and the fuser's own cancellation change nothing.
    await bystander.reply("q1", reply(MAY, hits("v")))
    await bystander.publish(made, 1)
    await bystander.drained()
    await asyncio.sleep(0.1)
    assert [stage for stage, _ in bystander.heard].count("answered") == 1
    assert counted(process.metrics.registry, "fanfuse_duplicates_total", stage="fuser") == 1
    outcomes = await bystander.nc.jetstream().stream_info(streams.OUTCOMES.name)
    assert outcomes.state.messages == 0, "no backend is to blame"


async def test_a_lost_must_is_answered_at_once_and_calls_off_the_rest(around):
    bystander, process = around
    await bystander.plan("q1", KEYWORD, MUST, MAY)
    await bystander.reply("q1", failed(MUST, "unavailable"))
    answer = await bystander.answer("q1")
    assert answer.rejection is not None
    assert (answer.status, answer.rejection.code, answer.hits) == (Status.FAILED, RejectionCode.QUORUM, ())
    assert answer.elapsed_ms < 10_000.0
    await eventually(lambda: ("cancelled", "q1") in bystander.heard)
    assert counted(process.metrics.registry, "fanfuse_rejections_total", code="quorum") == 1


async def test_nothing_is_called_off_where_every_lane_replied(around):
    bystander, _ = around
    await bystander.plan("q1", KEYWORD, MAY)
    for one in (reply(MAY, hits("v")), reply(KEYWORD, hits("a"))):
        await bystander.reply("q1", one)
    answer = await bystander.answer("q1")
    await bystander.drained()
    await asyncio.sleep(0.1)
    cancelled = [query_id for stage, query_id in bystander.heard if stage == "cancelled"]
    assert len(cancelled) == answer.coverage.count(LaneOutcome.NOT_WAITED)
