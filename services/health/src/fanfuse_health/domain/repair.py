"""What becomes of a message whose deliveries are used up: as data, for the janitor to carry out.

In: the message as it lies in its work queue. Out: a `Repair`. The query behind it must get exactly one typed answer,
or its fuser a failed lane; nothing here retries the work itself.
"""

from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.base import Model
from fanfuse_contracts.enums import FailureKind, LaneOutcome, RejectionCode, Stage
from fanfuse_contracts.plan import Rejection, RetrieveCommand
from fanfuse_contracts.query import Progress
from fanfuse_contracts.retrieval import Failure, LaneReply
from fanfuse_contracts.tokens import InvalidTokenError

REASON: Final = "max_deliveries"
WORK_QUEUES: Final = frozenset({streams.QUERIES.name, streams.RETRIEVE.name})
_POOL_DURABLE: Final = "worker-"


class MaxDeliveries(Model):
    """The server's advisory `io.nats.jetstream.advisory.v1.max_deliver`; other fields are ignored."""

    stream: str
    consumer: str
    stream_seq: int
    deliveries: int = 0


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """A query that nobody will answer any more."""

    tenant: str
    query_id: str
    progress: Progress
    rejection: Rejection


@dataclass(frozen=True, slots=True)
class Repair:
    """Besides the dead letter: the query to answer, or the reply its fuser waits for."""

    stage: Stage
    query: FailedQuery | None = None
    reply: LaneReply | None = None
    attempt: int = 0
    """Attempt of the command, for the reply's id: a worker that replied before it died was first."""


def is_ours(advisory: MaxDeliveries) -> bool:
    """False for consumers of other applications, and of streams from which nothing may be deleted."""
    return advisory.stream in WORK_QUEUES


def stage_of(durable: str) -> Stage | None:
    """The stage a durable consumer belongs to; None if it is not of this flow."""
    if durable.startswith(_POOL_DURABLE):
        return Stage.BACKEND_WORKERS
    return streams.STAGE_OF_DURABLE.get(durable)


def repair(stage: Stage, subject: str, data: bytes, stored_ns: int, janitor: str) -> Repair:
    """What to publish for one lost message. An undecodable one is answered as far as its subject tells whose it is."""
    if stage is Stage.BACKEND_WORKERS:
        command = _command(subject, data)
        if command is None:
            return Repair(stage)
        return Repair(stage, reply=_failed_reply(command, janitor), attempt=command.attempt)
    return Repair(stage, query=_failed_query(stage, subject, data, stored_ns))


def _failed_query(stage: Stage, subject: str, data: bytes, stored_ns: int) -> FailedQuery | None:
    try:
        tenant, query_id = subjects.parse_query(subject)
    except InvalidTokenError:
        return None
    message = f"the {stage.value} stopped every time it worked on this query; ask again under a new query id"
    rejection = Rejection(code=RejectionCode.INTERNAL, message=message, retryable=True)
    return FailedQuery(tenant, query_id, _progress(stage, data, stored_ns), rejection)


def _progress(stage: Stage, data: bytes, stored_ns: int) -> Progress:
    unread = Progress(submitted_ns=stored_ns)
    if stage is Stage.CLASSIFIER:
        return unread
    try:
        known = Progress.from_json(data)
    except ValidationError:
        return unread
    return known if known.submitted_ns else unread


def _command(subject: str, data: bytes) -> RetrieveCommand | None:
    try:
        command = RetrieveCommand.from_json(data)
        owner = subjects.parse_tenant_corpus(subject)
    except (ValidationError, InvalidTokenError):
        return None
    return command if owner == (command.tenant, command.corpus) else None


def _failed_reply(command: RetrieveCommand, janitor: str) -> LaneReply:
    return LaneReply(
        tenant=command.tenant,
        query_id=command.query_id,
        lane=command.lane,
        corpus=command.corpus,
        kind=command.kind,
        backend=command.backend,
        outcome=LaneOutcome.FAILED,
        failure=Failure(kind=FailureKind.UNAVAILABLE, message="its worker stopped every time it worked on this lane"),
        worker=janitor,
    )
