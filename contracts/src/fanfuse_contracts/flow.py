"""The flow as data: who publishes what on which subject, who hears it, and how it is delivered.

docs/flow.md and the AsyncAPI document are generated from this table; a test compares it with what the services declare.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fanfuse_contracts import answer, health, operations, plan, quality, query, retrieval, streams, subjects
from fanfuse_contracts.base import Model
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.enums import Stage

CALLER: Final = "caller"
SERVER: Final = "nats-server"
OPERATOR: Final = "operator"


class Delivery(StrEnum):
    """How a message travels."""

    WORK_QUEUE = "work queue"
    STORED = "stored"
    REPUBLISHED = "republished after storing"
    CORE = "core"
    REQUEST = "request/reply"


@dataclass(frozen=True, slots=True)
class Channel:
    """One subject pattern with its message."""

    name: str
    subject: str
    message: type[Model] | None
    delivery: Delivery
    publishers: tuple[str, ...]
    subscribers: tuple[str, ...]
    stream: str | None = None
    reply: type[Model] | None = None
    what: str = ""
    leads_on: bool = True
    """False: no span comes of it, so it carries the trace only where its publisher records one."""


_C, _R, _W, _F, _H = (stage.value for stage in Stage)

SUBMITTED: Final = Channel(
    "query_submitted", subjects.QUERY_SUBMITTED, query.SubmittedQuery, Delivery.WORK_QUEUE, (CALLER,), (_C,),
    streams.QUERIES.name, what="A query; the publish acknowledgement means accepted.",
)  # fmt: skip
CLASSIFIED: Final = Channel(
    "query_classified", subjects.QUERY_CLASSIFIED, QueryClassified, Delivery.WORK_QUEUE, (_C,), (_R,),
    streams.QUERIES.name, what="Shape, features and raw corpus scores.",
)  # fmt: skip
PLANNED: Final = Channel(
    "query_planned", subjects.QUERY_PLANNED, plan.QueryPlanned, Delivery.WORK_QUEUE, (_R,), (_F,),
    streams.QUERIES.name, what="The plan: which lanes to join, with which weights.",
)  # fmt: skip
RETRIEVE: Final = Channel(
    "retrieve", subjects.RETRIEVE, plan.RetrieveCommand, Delivery.WORK_QUEUE, (_R, _H), (_W,),
    streams.RETRIEVE.name, what="Fetch one ranked list; one durable consumer per pool of workers (health: its probes).",
)  # fmt: skip
RETRIEVED: Final = Channel(
    "retrieved", subjects.RETRIEVED, retrieval.LaneReply, Delivery.STORED, (_W, _H), (_F,),
    streams.RETRIEVED.name, what="Hits or a typed failure of one lane (health: for a command whose worker died).",
    leads_on=False,
)  # fmt: skip
LIVE_RETRIEVED: Final = Channel(
    "live_retrieved", subjects.LIVE_RETRIEVED, retrieval.LaneReply, Delivery.REPUBLISHED, (SERVER,), (_F, _H),
    streams.RETRIEVED.name, what="The same reply, heard by the fuser that holds the plan (health: its probes').",
)  # fmt: skip
FUSED: Final = Channel(
    "query_fused", subjects.QUERY_FUSED, answer.Answer, Delivery.STORED, (_F, _C, _R, _H), (),
    streams.ANSWERS.name, what="The one answer, whoever makes it; a second one is refused.",
)  # fmt: skip
ANSWERED: Final = Channel(
    "query_answered", subjects.QUERY_ANSWERED, answer.Answer, Delivery.REPUBLISHED, (SERVER,), (CALLER,),
    streams.ANSWERS.name, what="The stored answer, heard by whoever subscribed.",
)  # fmt: skip
CANCELLED: Final = Channel(
    "query_cancelled", subjects.QUERY_CANCELLED, None, Delivery.CORE, (CALLER, _F), (_F, _W),
    what="Nobody waits any more (the caller gave up, or the answer is out): the fuser stops, workers skip.",
)  # fmt: skip
DECIDE: Final = Channel(
    "query_decide", subjects.QUERY_DECIDE, plan.DecideRequest, Delivery.REQUEST, (CALLER,), (_C,),
    reply=plan.DecideReply, what="What would be done with this query?",
)  # fmt: skip
ROUTE_DECIDE: Final = Channel(
    "route_decide", subjects.ROUTE_DECIDE, QueryClassified, Delivery.REQUEST, (_C,), (_R,),
    reply=plan.DecideReply, what="The second half of `query.decide`.",
)  # fmt: skip
CHUNKS: Final = Channel(
    "chunks_get", subjects.CHUNKS_GET, retrieval.ChunksRequest, Delivery.REQUEST, (_F,), (_W,),
    reply=retrieval.ChunksReply, what="Texts of the winners, from any worker that stores them.",
)  # fmt: skip
OUTCOME: Final = Channel(
    "backend_outcome", subjects.BACKEND_OUTCOME, health.BackendOutcome, Delivery.STORED, (_W, _F), (_H,),
    streams.OUTCOMES.name, what="Failures all, successes sampled with their weight.", leads_on=False,
)  # fmt: skip
PROBE: Final = Channel(
    "backend_probe", subjects.BACKEND_PROBE, health.ProbeRequest, Delivery.REQUEST, (_R, OPERATOR), (_H,),
    reply=health.ProbeReply, what="Probe a degraded backend now, before its time.",
)  # fmt: skip
HEARTBEAT: Final = Channel(
    "heartbeat", subjects.HEARTBEAT, health.Heartbeat, Delivery.CORE, (_C, _R, _W, _F, _H), (_R, _F, _H, OPERATOR),
    what="Every instance, every second: its `nats micro` INFO.",
)  # fmt: skip
AUDITED: Final = Channel(
    "audit", subjects.AUDIT, operations.RouteAudited, Delivery.STORED, (_R,), (OPERATOR,),
    streams.AUDIT.name, what="Every routing decision, kept 30 days.", leads_on=False,
)  # fmt: skip
QUALITY: Final = Channel(
    "quality", subjects.QUALITY, quality.QualityMeasured, Delivery.STORED, (_F,), (OPERATOR,),
    streams.QUALITY.name, what="What each lane of a corpus contributed to answers, every ten seconds, kept a day.",
)  # fmt: skip
DEADLETTER: Final = Channel(
    "deadletter", subjects.DEADLETTER, operations.DeadLetter, Delivery.STORED, (_C, _R, _W, _F, _H), (OPERATOR,),
    streams.DEADLETTER.name, what="Messages that no retry can help, kept 30 days.",
)  # fmt: skip

CHANNELS: Final = (
    SUBMITTED, CLASSIFIED, PLANNED, RETRIEVE, RETRIEVED, LIVE_RETRIEVED, FUSED, ANSWERED, CANCELLED, DECIDE,
    ROUTE_DECIDE, CHUNKS, OUTCOME, PROBE, HEARTBEAT, AUDITED, QUALITY, DEADLETTER,
)  # fmt: skip
