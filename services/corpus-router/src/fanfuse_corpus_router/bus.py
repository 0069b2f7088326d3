"""What this service hears and says: `query.classified` → commands, plan and audit, or an answer that refuses or asks.

The order is: commands first, then the plan. A plan is stored once (its message id), but a redelivery may compute
another one, because health or the registry changed meanwhile. Whichever plan is stored, each of its commands was stored
before; a lane's name depends on the lane alone, so one name never stands for two lanes; replies to the command of a
plan that lost are unknown to the fuser, which counts them. So no planned lane waits for a command that was never sent.
"""

from collections.abc import Iterable

from fanfuse_contracts import limits, metrics, streams, subjects
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import RetrievalConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.plan import Clarification, DecideReply, Rejection
from fanfuse_contracts.query import Hop
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_contracts.tracing import CORPUS_ROUTE
from fanfuse_corpus_router.adapters import narration, outbox
from fanfuse_corpus_router.adapters.probes import probe_first
from fanfuse_corpus_router.adapters.snapshot import Snapshots
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.planning import Outcome, PlannedQuery, Planner, Refused, plan_in_time, told
from fanfuse_corpus_router.ports import Backends, Corpora
from fanfuse_runtime.answers import hop, progress, publish_clarification, publish_refusal
from fanfuse_runtime.bus import Bus, Publication
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.errors import PublishRefusedError, TooLargeError
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.telemetry import span


class RouterHandlers:
    """The handlers, with what they need."""

    def __init__(self, context: Context) -> None:
        self._bus: Bus = context.bus
        self._corpora: Corpora = context.corpora
        self._backends: Backends = context.backends
        self._snapshots = Snapshots(context.backends, context.pools)
        self._retrieval: RetrievalConfig = context.config.retrieval
        self._planner = Planner(self._retrieval)
        self._metrics = context.metrics
        self._tracer = context.tracer
        # Bound once: a lazy logger is made anew for each event.
        self._log = get_logger("corpus-router").bind()

    async def on_query_classified(self, delivery: Delivery, message: QueryClassified) -> None:
        """Plan the query; tenant and id are those of the subject."""
        event = message.stating(tenant=delivery.tenant, query_id=delivery.query_id)
        started_ns = self._bus.now_ns()
        with span(self._tracer, CORPUS_ROUTE) as current:
            cards = self._corpora.of_tenant(event.tenant)
            facts = self._snapshots.take(event.tenant, cards)
            remaining_ms = self._bus.remaining_ms(event.submitted_ns, event.query.budget_ms)
            outcome = plan_in_time(event, remaining_ms, cards, facts, self._planner, self._now_s())
            said = narration.attributes(told(outcome), self._bus.elapsed_ms(started_ns))
            current.set_attributes(said)
            self._log.info(narration.EVENT, **said)
            await self._tell(event, outcome, started_ns)

    async def _tell(self, event: QueryClassified, outcome: Outcome, started_ns: int) -> None:
        if isinstance(outcome, Refused):
            await self._refuse(event, outcome, started_ns)
            return
        if isinstance(outcome, Clarification):
            await self._ask_back(event, outcome, started_ns)
            return
        try:
            await self._publish(*outbox.commands(outcome))
            await self._publish(outbox.plan(event, outcome.plan, self._hops(event, started_ns)))
        except PublishRefusedError:
            await self._refuse(event, Refused(rejections.overloaded()), started_ns)
        except TooLargeError as error:
            await self._refuse(event, Refused(rejections.too_large(str(error))), started_ns)
        else:
            await self._publish(outbox.audit(event, outcome.plan))

    async def _publish(self, *publications: Publication) -> None:
        duplicates = sum(stored.duplicate for stored in await self._bus.publish_all(publications))
        if duplicates:
            self._metrics.inc(metrics.DUPLICATES_TOTAL, duplicates, stage=Stage.CORPUS_ROUTER.value)

    async def _refuse(self, event: QueryClassified, refused: Refused, started_ns: int) -> None:
        tenant, query_id, hops = event.tenant, event.query_id, self._hops(event, started_ns)
        await publish_refusal(
            self._bus, self._metrics, tenant, query_id, refused.rejection, event.submitted_ns, hops, refused.skipped
        )
        await self._publish(outbox.audit(event, refused.rejection))

    async def _ask_back(self, event: QueryClassified, unclear: Clarification, started_ns: int) -> None:
        tenant, query_id, hops = event.tenant, event.query_id, self._hops(event, started_ns)
        await publish_clarification(self._bus, self._metrics, tenant, query_id, unclear, event.submitted_ns, hops)
        await self._publish(outbox.audit(event, unclear))

    def _now_s(self) -> float:
        """The broker's time in seconds since the epoch."""
        return self._bus.now_ns() / 1e9

    def _hops(self, event: QueryClassified, started_ns: int) -> tuple[Hop, ...]:
        took_ms = self._bus.elapsed_ms(started_ns)
        return (*event.hops, hop(self._bus, Stage.CORPUS_ROUTER, event.submitted_ns, took_ms))

    async def on_route_decide(self, delivery: Delivery, message: QueryClassified) -> DecideReply:
        """The same plan as in the flow, told and not carried out."""
        event = message.stating(tenant=subjects.parse_tenant(delivery.subject))
        cards = self._corpora.of_tenant(event.tenant)
        if self._retrieval.probe_on_decide:
            await self._probe_degraded(cards, event.query.budget_ms)
        facts = self._snapshots.take(event.tenant, cards)
        outcome = self._planner.plan(event, cards, facts, self._now_s())
        return DecideReply(
            classification=event.classification,
            plan=outcome.plan if isinstance(outcome, PlannedQuery) else None,
            clarification=outcome if isinstance(outcome, Clarification) else None,
            rejection=outcome.rejection if isinstance(outcome, Refused) else None,
            registry_revision=self._corpora.revision,
            health_version=self._backends.revision,
        )

    async def _probe_degraded(self, cards: Iterable[CorpusCard], budget_ms: int) -> None:
        wired = {(wiring.kind, wiring.backend) for card in cards for wiring in card.backends}
        # The reply must be back within the caller's budget.
        within_s = min(limits.PROBE_ON_DECIDE_S, budget_ms / 2e3)
        await probe_first(self._bus, self._backends, wired & self._backends.unhealthy, within_s)

    async def on_failed(self, delivery: Delivery, rejection: Rejection) -> None:
        """Answer the query of a message that no retry can help; the runtime keeps the message as a dead letter."""
        try:
            tenant, query_id = delivery.tenant, delivery.query_id
        except InvalidTokenError:
            return  # not the subject of a query: there is nobody to answer
        known = progress(delivery.data)
        hops = (*known.hops, hop(self._bus, Stage.CORPUS_ROUTER, known.submitted_ns, delivery.held_ms()))
        await publish_refusal(self._bus, self._metrics, tenant, query_id, rejection, known.submitted_ns, hops)


def declare(router: ServiceRouter, handlers: RouterHandlers, in_flight: int) -> None:
    """Say what this service hears."""
    router.consume(streams.ROUTER_CONSUMER, QueryClassified, in_flight=in_flight, on_failed=handlers.on_failed)(
        handlers.on_query_classified
    )
    router.respond(subjects.ROUTE_DECIDE, QueryClassified, invalid=lambda rejection: DecideReply(rejection=rejection))(
        handlers.on_route_decide
    )
