"""What the classifier hears and says.

In: `query.submitted` and `query.decide`. Out: `query.classified`, or the one answer of a query that is refused; a
`DecideReply`. It parses, calls the domain and publishes; it decides nothing. The header with the caller's token ends
here: what is published carries the principal it stated.
"""

from pydantic import ValidationError

from fanfuse_classifier.adapters.admission import TenantAdmission
from fanfuse_classifier.adapters.principals import Authenticator
from fanfuse_classifier.domain import refusals
from fanfuse_classifier.domain.capabilities import card_faults
from fanfuse_classifier.domain.classify import Classification, Classifiers, classify
from fanfuse_contracts import flow, metrics, streams, subjects
from fanfuse_contracts.base import SCHEMA_VERSION
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.headers import PRINCIPAL
from fanfuse_contracts.plan import DecideReply, DecideRequest, Rejection
from fanfuse_contracts.query import AcceptedQuery, Hop, SubmittedQuery
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_runtime.answers import hop, publish_refusal
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.errors import BusError, PublishRefusedError, TooLargeError
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.router import ServiceRouter

_log = get_logger("classifier")
_DECIDE_ID = "decide"
"""Query id of a query that is not run."""

_Decided = tuple[SubmittedQuery, Classification]
"""The query with the principal that counts, and what its text says."""


class ClassifierHandlers:
    """The handlers, with what they need."""

    def __init__(
        self, context: Context, classifiers: Classifiers, authenticator: Authenticator, admission: TenantAdmission
    ) -> None:
        self._bus = context.bus
        self._corpora = context.corpora
        self._metrics = context.metrics
        self._classifiers = classifiers
        self._authenticator = authenticator
        self._admission = admission

    async def on_query_submitted(self, delivery: Delivery, query: SubmittedQuery) -> None:
        """Classify a query and pass it on, or answer it with a refusal."""
        started_ns = self._bus.now_ns()
        if self._bus.remaining_ms(delivery.stored_ns, query.budget_ms) <= 0:
            await self._refuse(delivery, refusals.refuse_expired(query.budget_ms))
            return
        if delivery.deliveries > 1:
            # It may be in the flow already: it must not be refused there.
            await self._enter(delivery, query, started_ns)
            return
        async with self._admission.entering(delivery.tenant, query.budget_ms) as admitted:
            if admitted:
                await self._enter(delivery, query, started_ns)
            else:
                ceiling = self._admission.ceiling_of(delivery.tenant)
                await self._refuse(delivery, refusals.refuse_over_ceiling(ceiling))

    async def _enter(self, delivery: Delivery, query: SubmittedQuery, started_ns: int) -> None:
        decided = self._decide(delivery, delivery.tenant, query, delivery.stored_ns)
        if isinstance(decided, Rejection):
            await self._refuse(delivery, decided)
            return
        try:
            await self._pass_on(delivery, decided, started_ns)
        except PublishRefusedError as error:
            _log.warning("classifier.publish_refused", error=str(error))
            await self._refuse(delivery, refusals.refuse_overloaded())
        except TooLargeError as error:
            await self._refuse(delivery, refusals.refuse_too_large(str(error)))

    async def on_failed(self, delivery: Delivery, rejection: Rejection) -> None:
        """Answer a query that can't be read, or that no retry helped."""
        try:
            await self._refuse(delivery, rejection)
        except InvalidTokenError:
            # No tenant or no query id: there is no subject to answer on. The dead letter says so.
            _log.warning("classifier.unanswerable", subject=delivery.subject)

    async def on_query_decide(self, delivery: Delivery, request: DecideRequest) -> DecideReply:
        """Classify a query and ask the router what it would do with it."""
        tenant = subjects.parse_tenant(delivery.subject)
        now_ns = self._bus.now_ns()
        decided = self._decide(delivery, tenant, request.query, now_ns)
        if isinstance(decided, Rejection):
            return DecideReply(rejection=decided)
        return await self._ask_router(tenant, _event(tenant, _DECIDE_ID, decided, now_ns))

    async def _ask_router(self, tenant: str, event: QueryClassified) -> DecideReply:
        timeout_s = event.query.budget_ms / 1e3
        try:
            reply = await self._bus.request(flow.ROUTE_DECIDE, subjects.route_decide(tenant), event, timeout_s)
            return DecideReply.from_json(reply)
        except BusError as error:
            rejection = refusals.refuse_without_router(str(error), retryable=error.retryable)
        except ValidationError:
            rejection = refusals.refuse_without_router("its reply can't be read", retryable=False)
        return DecideReply(classification=event.classification, rejection=rejection)

    def _decide(self, delivery: Delivery, tenant: str, query: SubmittedQuery, now_ns: int) -> _Decided | Rejection:
        # NATS tells cases apart, callers may not: a token that is spelt otherwise must not count as none.
        names = (name for name in delivery.headers if name.casefold() == PRINCIPAL.casefold())
        token = next((delivery.headers[name] for name in names), None)
        authentic = self._authenticator.authenticate(query, tenant, token, now_ns / 1e9)
        if isinstance(authentic, Rejection):
            return authentic
        found = classify(authentic, tenant, self._corpora.of_tenant(tenant), self._classifiers)
        return found if isinstance(found, Rejection) else (authentic, found)

    async def _refuse(self, delivery: Delivery, rejection: Rejection) -> None:
        tenant, query_id, submitted_ns = delivery.tenant, delivery.query_id, delivery.stored_ns
        hops = (hop(self._bus, Stage.CLASSIFIER, submitted_ns, delivery.held_ms()),)
        await publish_refusal(self._bus, self._metrics, tenant, query_id, rejection, submitted_ns, hops)

    async def _pass_on(self, delivery: Delivery, decided: _Decided, started_ns: int) -> None:
        tenant, query_id = delivery.tenant, delivery.query_id
        done = hop(self._bus, Stage.CLASSIFIER, delivery.stored_ns, self._bus.elapsed_ms(started_ns))
        stored = await self._bus.publish(
            flow.CLASSIFIED,
            subjects.query_classified(tenant, query_id),
            _event(tenant, query_id, decided, delivery.stored_ns, done),
            streams.message_id(tenant, query_id, Stage.CLASSIFIER.value, submitted_ns=delivery.stored_ns),
        )
        if stored.duplicate:
            self._metrics.inc(metrics.DUPLICATES_TOTAL, stage=Stage.CLASSIFIER.value)


def _event(tenant: str, query_id: str, decided: _Decided, submitted_ns: int, *hops: Hop) -> QueryClassified:
    query, found = decided
    # Every part was validated with the query or the subject, or made by the classifier.
    return QueryClassified.of_checked(
        {
            "schema_version": SCHEMA_VERSION,
            "tenant": tenant,
            "query_id": query_id,
            "query": AcceptedQuery.of_checked(dict(query.__dict__)),
            "submitted_ns": submitted_ns,
            "hops": hops,
            "classification": found.shape,
            "scopes": found.scopes,
            "corpus_scores": found.corpus_scores,
        }
    )


def report_faults(key: str, card: CorpusCard | None) -> None:
    """Tell operators of each changed card whose terms or expressions can't be used."""
    for fault in card_faults(card) if card is not None else ():
        _log.warning("classifier.card_fault", key=key, fault=fault)


def declare(router: ServiceRouter, handlers: ClassifierHandlers, in_flight: int) -> None:
    """Say what this service hears."""
    router.consume(streams.CLASSIFIER_CONSUMER, SubmittedQuery, in_flight=in_flight, on_failed=handlers.on_failed)(
        handlers.on_query_submitted
    )
    router.respond(subjects.QUERY_DECIDE, DecideRequest, invalid=lambda rejection: DecideReply(rejection=rejection))(
        handlers.on_query_decide
    )
