"""The fuser on a real broker: exactly one answer for every plan, whatever is missing."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import FailureKind, Kind, RejectionCode, Stage, Status
from fanfuse_contracts.health import BackendOutcome, Heartbeat, ServedPool
from fanfuse_contracts.plan import QueryPlanned
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest, ChunkText, LaneReply
from fanfuse_fuser.bus import _of_subject
from fanfuse_fuser.service import build
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.nats import _session_server, nats_server
from fanfuse_testing.samples import counted
from tests.unit.fuser.fuser_builders import TENANT, hits, lane, planned, reply

__all__ = ["_session_server", "nats_server"]

VECTOR, KEYWORD = lane("vector"), lane("keyword")
BOTH = (reply(VECTOR, hits("a", "b")), reply(KEYWORD, hits("b")))


@dataclass
class Surroundings:
    """Stands for router, workers and caller."""

    nc: Client
    heard: dict[str, list[Answer]] = field(default_factory=dict)
    asked_for_texts: list[tuple[str, ...]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        async def on_answer(msg) -> None:
            query_id = subjects.parse_query(msg.subject).query_id
            self.heard.setdefault(query_id, []).append(Answer.from_json(msg.data))
            self.news.set()

        await self.nc.subscribe(subjects.answered_of_tenant(TENANT), cb=on_answer)
        await self.nc.flush()

    async def serve_texts(self, queue: str = "") -> None:
        async def on_request(msg) -> None:
            request = ChunksRequest.from_json(msg.data)
            self.asked_for_texts.append(request.chunk_ids)
            chunks = tuple(ChunkText(chunk_id=one, text=f"text {one}", source="a.md") for one in request.chunk_ids)
            await msg.respond(ChunksReply(chunks=chunks).to_json())

        await self.nc.subscribe(subjects.chunks_get(TENANT, "docs"), queue=queue, cb=on_request)
        await self.nc.flush()

    async def plan(self, query_id: str, *, attempt: int = 0, **query: Any) -> QueryPlanned:
        made = planned([VECTOR, KEYWORD], (), **query)
        made = made.model_copy(update={"query_id": query_id, "submitted_ns": time.time_ns()})
        header = {"Nats-Msg-Id": streams.message_id(TENANT, query_id, "planned", attempt=attempt)}
        await self.nc.jetstream().publish(subjects.query_planned(TENANT, query_id), made.to_json(), headers=header)
        return made

    async def replies(self, query_id: str, *replies: LaneReply) -> None:
        for one in replies:
            body = one.model_copy(update={"query_id": query_id}).to_json()
            await self.nc.jetstream().publish(subjects.retrieved(TENANT, query_id, one.lane), body)

    async def answer(self, query_id: str, number: int = 1) -> Answer:
        async with asyncio.timeout(30):
            while len(self.heard.get(query_id, [])) < number:
                await self.news.wait()
                self.news.clear()
        await asyncio.sleep(0.02)
        assert len(self.heard[query_id]) == number, "exactly one answer for each submission"
        return self.heard[query_id][-1]

    async def drained(self) -> None:
        """Every plan is acknowledged and gone from the work queue."""
        async with asyncio.timeout(30):
            while True:
                info = await self.nc.jetstream().stream_info(streams.QUERIES.name)
                if info.state.messages == 0:
                    return
                await asyncio.sleep(0.02)

    async def outcomes(self) -> list[BackendOutcome]:
        js = self.nc.jetstream()
        count = (await js.stream_info(streams.OUTCOMES.name)).state.messages
        stored = [await js.get_msg(streams.OUTCOMES.name, number) for number in range(1, count + 1)]
        return [BackendOutcome.from_json(one.data or b"") for one in stored]


@pytest.fixture
async def fuser(nats_server: NatsServer) -> AsyncIterator[Process]:
    async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url, drain_timeout_s=1.0)) as process:
        yield process


@pytest.fixture
async def around(nats_server: NatsServer, fuser: Process) -> AsyncIterator[Surroundings]:
    client = await nats.connect(nats_server.url)
    surroundings = Surroundings(client)
    await surroundings.listen()
    yield surroundings
    await client.close()


def live_subscriptions(process: Process) -> int:
    return len(process.context.bus.nc._subs)


def code_of(answer: Answer) -> RejectionCode | None:
    return answer.rejection.code if answer.rejection else None


async def test_replies_before_and_after_the_plan(fuser: Process, around: Surroundings):
    """JOI-05: a reply that overtook the plan is read, a later one is heard; nothing stays subscribed."""
    await around.serve_texts()
    await around.replies("q0", *BOTH)
    await around.plan("q0")
    await around.answer("q0")
    around.asked_for_texts.clear()
    before = live_subscriptions(fuser)
    await around.replies("q1", BOTH[0])
    made = await around.plan("q1")
    await asyncio.sleep(0.02)
    await around.replies("q1", BOTH[1])
    answer = await around.answer("q1")
    assert (answer.status, answer.submitted_ns) == (Status.COMPLETE, made.submitted_ns)
    assert [(hit.chunk_id, hit.text, len(hit.contributions)) for hit in answer.hits] == [
        ("b", "text b", 2),
        ("a", "text a", 1),
    ]
    assert around.asked_for_texts == [("b", "a")]
    assert answer.coverage.rejected_replies == 0
    await around.drained()
    assert live_subscriptions(fuser) == before


async def test_nobody_stores_texts(around: Surroundings):
    await around.replies("q1", *BOTH)
    await around.plan("q1")
    answer = await around.answer("q1")
    assert (answer.status, answer.missing_texts) == (Status.COMPLETE, ("b", "a"))
    assert answer.elapsed_ms < 1_000.0


async def test_a_request_for_texts_lost_with_its_worker_is_asked_again(around: Surroundings):
    """Whoever took the first request died with it: the answer has its texts long before the budget is over."""
    taken = asyncio.Event()

    async def take(_) -> None:
        taken.set()

    dying = await around.nc.subscribe(subjects.chunks_get(TENANT, "docs"), cb=take)
    await around.nc.flush()
    await around.replies("q1", *BOTH)
    await around.plan("q1", budget_ms=20_000)
    await asyncio.wait_for(taken.wait(), 10)
    await dying.unsubscribe()
    await around.serve_texts()
    answer = await around.answer("q1")
    assert [hit.text for hit in answer.hits] == ["text b", "text a"]
    assert answer.missing_texts == ()
    assert len(around.asked_for_texts) == 1
    assert answer.elapsed_ms < 10_000


async def test_a_worker_that_takes_requests_and_keeps_silent_costs_a_short_pause(around: Surroundings):
    """It is in the queue like any other, as one that is frozen: whoever asks it asks another one as well."""
    taken: list[bytes] = []

    async def take(msg) -> None:
        taken.append(msg.data)

    await around.serve_texts(queue="workers")
    await around.nc.subscribe(subjects.chunks_get(TENANT, "docs"), queue="workers", cb=take)
    await around.nc.flush()
    elapsed_ms = []
    for number in range(40):
        await around.replies(f"q{number}", *BOTH)
        await around.plan(f"q{number}", budget_ms=20_000)
        answer = await around.answer(f"q{number}")
        assert answer.missing_texts == ()
        elapsed_ms.append(answer.elapsed_ms)
    assert len(taken) >= 5, "the silent one had its share"
    assert sorted(elapsed_ms)[30] < 2_000.0, "long before the budget"


async def test_a_query_id_used_twice_hears_the_first_answer_again(around: Surroundings):
    await around.replies("q1", *BOTH)
    first = await around.plan("q1")
    await around.answer("q1")
    await around.plan("q1", attempt=1)
    again = await around.answer("q1", number=2)
    assert again.submitted_ns == first.submitted_ns


@pytest.mark.parametrize("ahead_ms", [0, 20, 500])
def test_the_time_of_a_submission_survives_a_clock_estimate_that_is_behind(ahead_ms: int):
    delivery = Delivery(Msg(_client=None, subject=subjects.query_planned(TENANT, "q1"), data=b""))  # type: ignore[arg-type]
    made = planned([VECTOR]).model_copy(update={"submitted_ns": 10**18 + ahead_ms * 10**6})
    assert _of_subject(made, delivery, 10**18).submitted_ns == made.submitted_ns
    hour_ahead = made.model_copy(update={"submitted_ns": 10**18 + 3_600 * 10**9})
    assert _of_subject(hour_ahead, delivery, 10**18).submitted_ns == 10**18


async def test_two_fusers_with_one_plan_store_one_answer(nats_server: NatsServer, around: Surroundings):
    """A plan taken over from a fuser that was only frozen: the second answer is refused, and nobody hears it."""
    made = planned([VECTOR, KEYWORD]).model_copy(update={"submitted_ns": time.time_ns()})
    await around.replies(made.query_id, *BOTH)
    body, subject = made.to_json(), subjects.query_planned(TENANT, made.query_id)
    async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url, drain_timeout_s=1.0)):
        for _ in range(8):  # eight deliveries of the same plan, shared by two processes
            await around.nc.jetstream().publish(subject, body)
        first = await around.answer(made.query_id)
        await around.drained()
    assert await around.answer(made.query_id) == first


async def beat(around: Surroundings) -> None:
    pools = tuple(ServedPool(kind=kind, pool="main", backends=("main",)) for kind in Kind)
    alive = Heartbeat(service=Stage.BACKEND_WORKERS, instance="w1", version="0", ready=True, pools=pools)
    await around.nc.publish(subjects.heartbeat(Stage.BACKEND_WORKERS, "w1"), alive.to_json())


async def test_a_silent_lane_costs_the_budget_and_says_nothing_of_a_backend_whose_worker_lives(around: Surroundings):
    """HEA-02: its command stood in a queue behind those of another tenant, or its worker had no CPU."""
    await beat(around)
    await around.replies("q1", BOTH[1])
    await around.plan("q1", budget_ms=600, include_text=False)
    answer = await around.answer("q1")
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, True)
    assert [reason.value for reason in answer.bm25_fallback_reasons] == ["timeout"]
    assert 500.0 <= answer.elapsed_ms < 10_000.0
    await around.drained()
    assert await around.outcomes() == []


async def test_a_lane_is_silent_with_its_worker_and_is_reported(around: Surroundings):
    """The worker froze: nobody else can tell. It is reported once, before it counts as absent or after."""
    await beat(around)
    await around.replies("q1", BOTH[1])
    await around.plan("q1", budget_ms=1_500, include_text=False)
    answer = await around.answer("q1")
    assert (answer.status, answer.bm25_fallback) == (Status.PARTIAL, True)
    (outcome,) = await around.outcomes()
    assert (outcome.kind, outcome.ok) == (Kind.VECTOR, False)
    assert outcome.failure in {FailureKind.TIMEOUT, FailureKind.UNAVAILABLE}


async def test_cancelled(fuser: Process, around: Surroundings):
    await around.plan("q1", budget_ms=20_000)
    await asyncio.sleep(0.1)
    await around.nc.publish(subjects.query_cancelled(TENANT, "q1"), b"")
    answer = await around.answer("q1")
    assert (answer.status, code_of(answer)) == (Status.EXPIRED, RejectionCode.CANCELLED)
    assert await around.outcomes() == []
    assert counted(fuser.metrics.registry, "fanfuse_queries_total", status="expired") == 1


async def test_a_plan_that_cannot_be_read_is_answered(around: Surroundings):
    await around.nc.jetstream().publish(subjects.query_planned(TENANT, "q1"), b'{"tenant": "acme"')
    answer = await around.answer("q1")
    assert answer.status is Status.REJECTED
    assert code_of(answer) is RejectionCode.INVALID_QUERY
    assert [hop.stage for hop in answer.hops] == [Stage.FUSER]


async def test_the_subject_says_who_asked(around: Surroundings):
    """A plan whose body names another tenant is answered for the tenant of its subject, with that tenant's replies."""
    made = planned([VECTOR, KEYWORD]).model_copy(update={"tenant": "other", "submitted_ns": time.time_ns()})
    await around.replies("q7", *BOTH)
    await around.nc.jetstream().publish(subjects.query_planned(TENANT, "q7"), made.to_json())
    answer = await around.answer("q7")
    assert (answer.tenant, answer.query_id, answer.status) == (TENANT, "q7", Status.COMPLETE)


async def test_in_flight_bounds_the_plans_of_a_process(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFUSE_FUSER_IN_FLIGHT", "1")
    settings = RuntimeSettings(nats_url=nats_server.url, drain_timeout_s=1.0)
    async with compose(build, settings=settings) as process:
        client = await nats.connect(nats_server.url)
        around = Surroundings(client)
        await around.listen()
        await around.plan("q1", budget_ms=20_000)
        await asyncio.sleep(0.2)
        await around.replies("q2", *BOTH)
        await around.plan("q2")
        await asyncio.sleep(0.2)
        assert process.services[0].router.in_flight == 1
        assert "q2" not in around.heard, "it waits for the one slot"
        await around.replies("q1", *BOTH)
        await around.answer("q1")
        await around.answer("q2")
        await client.close()
