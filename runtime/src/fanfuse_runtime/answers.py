"""The one answer of a query: stored once, whoever makes it.

A second answer is refused by the stream. Where the refused one belongs to a new submission of a used query id, the
stored answer is sent again, so that this caller hears it too; a takeover by another fuser stays silent.
"""

from collections.abc import Sequence

from pydantic import ValidationError

from fanfuse_contracts import flow, metrics, streams, subjects
from fanfuse_contracts.answer import Answer, Coverage, LaneReport
from fanfuse_contracts.enums import RejectionCode, Stage, Status
from fanfuse_contracts.plan import Clarification, Rejection, SkippedLane
from fanfuse_contracts.query import Hop, Progress
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics

_log = get_logger("answers")

_STATUS_OF_CODE = {
    RejectionCode.EXPIRED: Status.EXPIRED,
    RejectionCode.CANCELLED: Status.EXPIRED,
    RejectionCode.GONE: Status.FAILED,
    RejectionCode.INTERNAL: Status.FAILED,
    RejectionCode.UNAVAILABLE: Status.FAILED,
    RejectionCode.NO_LANE: Status.FAILED,
    RejectionCode.QUORUM: Status.FAILED,
}


def _status_of(rejection: Rejection) -> Status:
    # A source that is down is a failure; one that does not know what was asked is not.
    if rejection.code is RejectionCode.UNCONFIRMED:
        return Status.FAILED if rejection.retryable else Status.REJECTED
    return _STATUS_OF_CODE.get(rejection.code, Status.REJECTED)


def progress(data: bytes) -> Progress:
    """How far a query is, by the event that a stage was given; nothing where that cannot be read."""
    try:
        return Progress.from_json(data)
    except ValidationError:
        return Progress()


def hop(bus: Bus, stage: Stage, submitted_ns: int, took_ms: float) -> Hop:
    """What a stage adds when it is done with a query, at this moment."""
    # Two clocks: a share is never more than the whole.
    at_ms = _elapsed_ms(bus, submitted_ns)
    return Hop(stage=stage, at_ms=at_ms, took_ms=min(took_ms, at_ms))


def refusal(
    tenant: str,
    query_id: str,
    rejection: Rejection,
    *,
    submitted_ns: int,
    elapsed_ms: float = 0.0,
    hops: Sequence[Hop] = (),
    skipped: Sequence[SkippedLane] = (),
) -> Answer:
    """The answer of a query that gets no retrieval. `hops`: of every stage that had it, the refusing one last.
    `skipped`: the lanes that it would have needed.
    """
    return Answer(
        tenant=tenant,
        query_id=query_id,
        status=_status_of(rejection),
        coverage=Coverage(expected=0, lanes=tuple(map(LaneReport.of_skipped, skipped))),
        rejection=rejection,
        submitted_ns=submitted_ns,
        elapsed_ms=elapsed_ms,
        hops=tuple(hops),
    )


def clarify(
    tenant: str,
    query_id: str,
    clarification: Clarification,
    *,
    submitted_ns: int,
    elapsed_ms: float = 0.0,
    hops: Sequence[Hop] = (),
) -> Answer:
    """The answer of a query that has to be put more exactly before anything is searched."""
    return Answer(
        tenant=tenant,
        query_id=query_id,
        status=Status.CLARIFY,
        coverage=Coverage(expected=0),
        clarification=clarification,
        submitted_ns=submitted_ns,
        elapsed_ms=elapsed_ms,
        hops=tuple(hops),
    )


async def publish_answer(bus: Bus, metrics_: Metrics, answer: Answer, body: bytes | None = None) -> bool:
    """Store the answer; False if another one was stored first. `body`: its JSON, where that is at hand."""
    stored = await bus.publish(
        flow.FUSED,
        subjects.query_fused(answer.tenant, answer.query_id),
        body or answer,
        streams.answer_id(answer.tenant, answer.query_id),
    )
    if stored.duplicate:
        await send_stored_again(bus, answer.tenant, answer.query_id, answer.submitted_ns)
        return False
    metrics_.inc(metrics.QUERIES_TOTAL, status=answer.status.value, tenant_class=metrics_.class_of(answer.tenant))
    metrics_.observe(metrics.ANSWER_SECONDS, answer.elapsed_ms / 1e3)
    if answer.rejection is not None:
        metrics_.inc(metrics.REJECTIONS_TOTAL, code=answer.rejection.code.value)
    return True


async def send_stored_again(bus: Bus, tenant: str, query_id: str, submitted_ns: int) -> None:
    """Send the stored answer of a used query id to whoever submitted it anew; nothing where it is the same submission.

    Nothing is stored yet where the first submission is still in the flow: then its answer is heard by both.
    """
    stored = await bus.last(streams.ANSWERS.name, subjects.query_fused(tenant, query_id))
    if stored is None:
        return
    try:
        first = Answer.from_json(stored.data)
    except ValidationError as error:
        # Of a later version, or no answer at all: it can be neither compared nor passed on as one.
        _log.error("answers.unreadable", tenant=tenant, query_id=query_id, error=str(error))
        return
    if first.submitted_ns != submitted_ns:
        await bus.send(flow.ANSWERED, subjects.query_answered(tenant, query_id), first)


async def publish_refusal(
    bus: Bus,
    metrics_: Metrics,
    tenant: str,
    query_id: str,
    rejection: Rejection,
    submitted_ns: int,
    hops: Sequence[Hop] = (),
    skipped: Sequence[SkippedLane] = (),
) -> bool:
    """Answer a query with a refusal; False if another answer was stored first."""
    elapsed_ms = _elapsed_ms(bus, submitted_ns)
    answer = refusal(
        tenant, query_id, rejection, submitted_ns=submitted_ns, elapsed_ms=elapsed_ms, hops=hops, skipped=skipped
    )
    return await publish_answer(bus, metrics_, answer)


async def publish_clarification(
    bus: Bus,
    metrics_: Metrics,
    tenant: str,
    query_id: str,
    clarification: Clarification,
    submitted_ns: int,
    hops: Sequence[Hop] = (),
) -> bool:
    """Answer a query with what it lacks or could mean; False if another answer was stored first."""
    elapsed_ms = _elapsed_ms(bus, submitted_ns)
    answer = clarify(tenant, query_id, clarification, submitted_ns=submitted_ns, elapsed_ms=elapsed_ms, hops=hops)
    return await publish_answer(bus, metrics_, answer)


def _elapsed_ms(bus: Bus, submitted_ns: int) -> float:
    return bus.elapsed_ms(submitted_ns) if submitted_ns else 0.0
