"""Queries that get no retrieval: refusals and questions back to the caller take one path, once per query id."""

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import RejectionCode, SourceKind, Status
from fanfuse_contracts.plan import CapabilityOption, Clarification, Rejection
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.answers import publish_clarification, publish_refusal, refusal
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually
from fanfuse_testing.samples import counted

UNCLEAR = Clarification(
    message="which one is meant?",
    options=(CapabilityOption(corpus="rules", capability="leave", source=SourceKind.POLICY),),
)
DOWN = Rejection(code=RejectionCode.UNCONFIRMED, message="down", retryable=True)


async def ask_back(context: Context, delivery: Delivery, _query: SubmittedQuery) -> None:
    stored = await publish_clarification(
        context.bus, context.metrics, delivery.tenant, delivery.query_id, UNCLEAR, delivery.stored_ns
    )
    assert stored
    # Whoever handles the query after that, such as a second instance, changes nothing.
    assert not await publish_refusal(
        context.bus, context.metrics, delivery.tenant, delivery.query_id, DOWN, delivery.stored_ns
    )


async def test_a_clarification_is_the_one_answer_of_its_query(
    nats_server: NatsServer, caller: Client, run_service
) -> None:
    heard: list[Answer] = []

    async def hear(msg: Msg) -> None:
        heard.append(Answer.from_json(msg.data))

    async def is_drained() -> bool:
        return (await caller.jetstream().stream_info(streams.QUERIES.name)).state.messages == 0

    async with run_service(nats_server, ask_back) as process:
        await caller.subscribe(subjects.answered_of_tenant("acme"), cb=hear)
        await caller.jetstream().publish(subjects.query_submitted("acme", "q1"), b'{"text":"hello"}')
        await eventually(lambda: heard)
        await eventually(is_drained)
        (answer,) = heard
        registry = process.metrics.registry
        assert counted(registry, "fanfuse_queries_total", status="clarify") == 1
        assert counted(registry, "fanfuse_queries_total", status="failed") == 0
        assert counted(registry, "fanfuse_rejections_total", code="unconfirmed") == 0
    assert (answer.status, answer.clarification, answer.rejection) == (Status.CLARIFY, UNCLEAR, None)
    assert (answer.coverage.expected, answer.hits) == (0, ())
    assert answer.submitted_ns > 0
    assert 0.0 <= answer.elapsed_ms < 20_000.0


@pytest.mark.parametrize(("retryable", "status"), [(True, Status.FAILED), (False, Status.REJECTED)])
def test_a_source_that_is_down_is_a_failure_and_one_that_does_not_know_is_not(retryable: bool, status: Status) -> None:
    rejection = DOWN.model_copy(update={"retryable": retryable})
    assert refusal("acme", "q1", rejection, submitted_ns=1).status is status
