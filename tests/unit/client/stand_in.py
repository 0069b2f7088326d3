"""A stand-in for the services: it answers what the text of a query asks for, and remembers what it saw."""

import asyncio

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer, Coverage
from fanfuse_contracts.enums import Shape, SourceKind, Stage, Status
from fanfuse_contracts.plan import (
    CapabilityOption,
    Clarification,
    DecideReply,
    DecideRequest,
    Rejection,
    RoutingDecision,
)
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_contracts.weights import Weights
from fanfuse_runtime.answers import publish_answer, publish_clarification, publish_refusal
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.service import Service

SEEN: list[tuple[str, SubmittedQuery, dict[str, str]]] = []

UNCLEAR = Clarification(
    message="the rule or the state of one record?",
    options=tuple(
        CapabilityOption(corpus=corpus, capability=capability, source=source)
        for corpus, capability, source in (
            ("handbook", "leave-policy", SourceKind.POLICY),
            ("records", "leave-balance", SourceKind.RECORD),
        )
    ),
)
DECIDED = RoutingDecision(
    corpus="docs",
    shape=Shape.SEMANTIC,
    use_vector=True,
    use_keyword=True,
    use_graph=False,
    weights=Weights(vector=1.5),
    degraded_backends=(),
    bm25_fallback=False,
    reason="",
    corpus_weight=0.75,
)


def build_stand_in(context: Context) -> Service:
    router = ServiceRouter(Stage.CLASSIFIER, context)

    async def refuse(delivery: Delivery, rejection: Rejection) -> None:
        await publish_refusal(
            context.bus, context.metrics, delivery.tenant, delivery.query_id, rejection, delivery.stored_ns
        )

    @router.consume(streams.CLASSIFIER_CONSUMER, SubmittedQuery, in_flight=64, on_failed=refuse)
    async def on_query_submitted(delivery: Delivery, query: SubmittedQuery) -> None:
        SEEN.append((delivery.query_id, query, dict(delivery.headers)))
        if query.text == "never":
            return
        if query.text.startswith("sleep "):
            await asyncio.sleep(float(query.text.split()[1]))
        if query.text == "leave" and query.capability is None:
            await publish_clarification(
                context.bus, context.metrics, delivery.tenant, delivery.query_id, UNCLEAR, delivery.stored_ns
            )
            return
        answer = Answer(
            tenant=delivery.tenant,
            query_id=delivery.query_id,
            status=Status.COMPLETE,
            coverage=Coverage(expected=0),
            submitted_ns=delivery.stored_ns,
            total=query.top_k,
            decisions=(DECIDED,),
        )
        await publish_answer(context.bus, context.metrics, answer)

    @router.respond(subjects.QUERY_DECIDE, DecideRequest, invalid=lambda rejection: DecideReply(rejection=rejection))
    async def on_decide(delivery: Delivery, request: DecideRequest) -> DecideReply:
        SEEN.append(("decide", request.query, dict(delivery.headers)))
        return DecideReply(clarification=UNCLEAR if request.query.text == "leave" else None)

    return Service(Stage.CLASSIFIER, router)
