"""What the workers hear: commands of their pools, cancellations, requests for texts. What they say: replies, outcomes.

Parse, hand to the worker, publish. A command is acknowledged when its reply is stored.
"""

import time

from fanfuse_backend_workers.catalog import Catalog, CorpusKey
from fanfuse_backend_workers.domain.in_hand import InHand
from fanfuse_backend_workers.domain.outcomes import OutcomeSampler, Row, is_probe
from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.domain.replies import LaneAddress, address_of, failed, fit, signed
from fanfuse_backend_workers.domain.requests import of_subject
from fanfuse_backend_workers.domain.salvage import salvage
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.texts import read_texts
from fanfuse_backend_workers.worker import LaneEnd, Worker
from fanfuse_contracts import flow, limits, metrics, streams, subjects
from fanfuse_contracts.enums import FailureKind, Stage
from fanfuse_contracts.health import BackendOutcome
from fanfuse_contracts.plan import Rejection, RetrieveCommand
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest, Failure, LaneReply
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_contracts.tracing import LANE_BACKEND, LANE_FAILURE, LANE_KIND, LANE_OUTCOME
from fanfuse_runtime.bus import Publication
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.errors import BusError, RetryError
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.masking import mask
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.telemetry import current_span

_HEADER_RESERVE_BYTES = 1_024
_log = get_logger("backend-workers.bus")


class WorkerHandlers:
    """The handlers, with what they need."""

    def __init__(self, context: Context, worker: Worker, catalog: Catalog, in_hand: InHand) -> None:
        self._bus = context.bus
        self._metrics = context.metrics
        self._worker = worker
        self._catalog = catalog
        self._in_hand = in_hand
        self._sampler = OutcomeSampler()

    # -- commands -----------------------------------------------------------------------------------------------

    async def on_retrieve(self, pool: Pool, delivery: Delivery, claimed: RetrieveCommand) -> None:
        """Answer one command: a reply is stored, whatever became of the search."""
        command = of_subject(claimed, pool.kind, *subjects.parse_tenant_corpus(delivery.subject))
        with self._in_hand.holding(pool, command):
            end = await self._worker.answer(command, claimed)
        elapsed_s = time.monotonic() - delivery.received_at
        reply, body = fit(_told(signed(end.reply, self._bus.instance, elapsed_s * 1e3)), self._max_reply_bytes())
        await self._store(address_of(command), body)
        self._count(command, reply, elapsed_s)
        await self._tell_health(command, end, elapsed_s)

    def _count(self, command: RetrieveCommand, reply: LaneReply, elapsed_s: float) -> None:
        kind, backend, outcome = command.kind.value, command.backend, reply.outcome.value
        self._metrics.observe(metrics.LANE_SECONDS, elapsed_s, kind=kind, backend=backend, outcome=outcome)
        current = current_span()
        if current.is_recording():
            current.set_attributes({LANE_KIND: kind, LANE_BACKEND: backend, LANE_OUTCOME: outcome})
        if reply.failure is not None:
            failure = reply.failure.kind.value
            current.set_attribute(LANE_FAILURE, failure)
            self._metrics.inc(metrics.LANE_FAILURES_TOTAL, kind=kind, backend=backend, failure=failure)

    async def on_failed(self, pool: Pool, delivery: Delivery, rejection: Rejection) -> None:
        """Tell the fuser that a command can't be handled, so that it need not wait; health is told nothing."""
        try:
            lane = salvage(delivery.data, pool.kind, *subjects.parse_tenant_corpus(delivery.subject))
        except InvalidTokenError:
            return  # no tenant, so nobody to answer
        if lane is None:
            return
        kind = FailureKind.UNAVAILABLE if rejection.retryable else FailureKind.BAD_REQUEST
        reply = signed(failed(lane, SearchError(kind, rejection.message)), self._bus.instance, 0.0)
        await self._store(lane, _told(reply).to_json())

    async def _store(self, lane: LaneAddress, body: bytes) -> None:
        publication = Publication(
            flow.RETRIEVED,
            subjects.retrieved(lane.tenant, lane.query_id, lane.lane),
            body,
            streams.message_id(lane.tenant, lane.query_id, "retrieved", lane.lane, lane.attempt),
        )
        try:
            (stored,) = await self._bus.publish_all((publication,))
        except BusError as error:
            raise RetryError(str(error)) from error
        if stored.duplicate:
            self._metrics.inc(metrics.DUPLICATES_TOTAL, stage=Stage.BACKEND_WORKERS.value)

    def _max_reply_bytes(self) -> int:
        return min(limits.MAX_LANE_REPLY_BYTES, self._bus.nc.max_payload - _HEADER_RESERVE_BYTES)

    # -- health -------------------------------------------------------------------------------------------------

    async def _tell_health(self, command: RetrieveCommand, end: LaneEnd, elapsed_s: float) -> None:
        if not end.speaks_of_backend or is_probe(command):
            return
        asked_s = min(elapsed_s, end.given_ms / 1e3)
        rows = self._sampler.observe((command.kind, command.backend), end.reply.failure, time.monotonic(), asked_s)
        if not rows:  # successes are told in lots
            return
        try:
            await self._bus.publish_all([self._outcome(command, row) for row in rows])
        except BusError as error:
            # The reply is stored already: a lost report must not bring the command back.
            _log.warning("outcome.not_told", error=str(error))

    def _outcome(self, command: RetrieveCommand, row: Row) -> Publication:
        outcome = BackendOutcome(
            kind=command.kind,
            backend=command.backend,
            ok=row.failure is None,
            failure=None if row.failure is None else row.failure.kind,
            weight=row.weight,
            age_ms=row.age_s * 1e3,
            source=self._bus.instance,
            message="" if row.failure is None else mask(row.failure.message),
        )
        # A failure has the id the fuser gives to its own report of this lane, so that it counts once.
        name = "outcome" if row.failure is not None else "successes"
        message_id = streams.message_id(command.tenant, command.query_id, name, command.lane, command.attempt)
        return Publication(flow.OUTCOME, subjects.backend_outcome(command.kind, command.backend), outcome, message_id)

    # -- core ---------------------------------------------------------------------------------------------------

    async def on_query_cancelled(self, delivery: Delivery) -> None:
        """Skip the commands of this query that are still waiting."""
        self._worker.cancel(delivery.tenant, delivery.query_id)

    async def on_chunks_get(self, delivery: Delivery, request: ChunksRequest) -> ChunksReply:
        """Texts of one corpus."""
        corpus = CorpusKey(*subjects.parse_tenant_corpus(delivery.subject))
        return await read_texts(
            self._catalog, corpus, request.chunk_ids, self._bus.nc.max_payload - _HEADER_RESERVE_BYTES
        )


def _told(reply: LaneReply) -> LaneReply:
    """The reply as others may read it: a failure's message holds no secret."""
    if reply.failure is None:
        return reply
    return reply.stating(failure=reply.failure.stating(message=mask(reply.failure.message)))


def declare(router: ServiceRouter, handlers: WorkerHandlers, pools: tuple[Pool, ...], in_flight: int) -> None:
    """Say what this service hears."""
    for pool in pools:
        _declare_pool(router, handlers, pool, in_flight)
    router.listen(subjects.QUERY_CANCELLED)(handlers.on_query_cancelled)
    router.respond(subjects.CHUNKS_GET, ChunksRequest, invalid=_unreadable)(handlers.on_chunks_get)


def _unreadable(rejection: Rejection) -> ChunksReply:
    return ChunksReply(failure=Failure(kind=FailureKind.BAD_REQUEST, message=rejection.message))


def _declare_pool(router: ServiceRouter, handlers: WorkerHandlers, pool: Pool, in_flight: int) -> None:
    async def on_failed(delivery: Delivery, rejection: Rejection) -> None:
        await handlers.on_failed(pool, delivery, rejection)

    spec = streams.pool_consumer(pool.kind, pool.name)

    @router.consume(spec, RetrieveCommand, in_flight=in_flight, on_failed=on_failed)
    async def on_retrieve(delivery: Delivery, command: RetrieveCommand) -> None:
        await handlers.on_retrieve(pool, delivery, command)
