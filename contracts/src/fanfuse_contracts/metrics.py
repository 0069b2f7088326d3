"""Every Prometheus metric: name, kind, help, bounded label sets. Unit is seconds, as the names say.

A closed label set is pre-created at zero, so `rate()` sees the first event and zero differs from not wired. An open one
is filled with what the operator configured or wired, up to a bound; the rest is `other`. No label ever holds a query
id, a user, a text or an error message.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

from fanfuse_contracts import limits
from fanfuse_contracts.enums import (
    FailureKind,
    FallbackReason,
    Kind,
    LaneOutcome,
    RejectionCode,
    Stage,
    Status,
)

SECONDS_BUCKETS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
)  # fmt: skip
OTHER: Final = "other"
"""Stands for whatever is not named, or came after the bound of its set was reached."""


class MetricKind(StrEnum):
    """Prometheus metric type."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Open(StrEnum):
    """A label set that a deployment fills; the value says with what."""

    TENANT_CLASS = "the classes of `metrics.tenant_classes`, else `other`"
    CORPUS = "`<tenant>/<corpus>` of `metrics.corpora`, else `other`"
    BACKEND = "wired backends"
    CONSUMER = "durable consumers of work queues"

    @property
    def most(self) -> int:
        """Most values beside `other`."""
        return _MOST[self]

    @property
    def is_configured(self) -> bool:
        """True if the values are known from the configuration, so that they are pre-created."""
        return self in {Open.TENANT_CLASS, Open.CORPUS}


_MOST: Final = {
    Open.TENANT_CLASS: limits.METRICS_MAX_TENANT_CLASSES,
    Open.CORPUS: limits.METRICS_MAX_CORPORA,
    Open.BACKEND: limits.METRICS_MAX_BACKENDS,
    Open.CONSUMER: limits.METRICS_MAX_CONSUMERS,
}

Labels = tuple[tuple[str, tuple[str, ...] | Open], ...]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric. `labels` maps a label to its closed set, or to what fills it."""

    name: str
    kind: MetricKind
    help: str
    labels: Labels = ()


def _values(enum: type[StrEnum]) -> tuple[str, ...]:
    return tuple(member.value for member in enum)


def pair_of(one: Kind, other: Kind) -> str:
    """Two kinds as one label value, whatever their order."""
    first, second = sorted((one, other), key=list(Kind).index)
    return f"{first.value}+{second.value}"


def corpus_name(tenant: str, corpus: str) -> str:
    """How a corpus stands in `metrics.corpora` and in the label `corpus`."""
    return f"{tenant}/{corpus}"


_STAGE: Final[Labels] = (("stage", _values(Stage)),)
_KIND: Final[Labels] = (("kind", _values(Kind)),)
_BACKEND: Final[Labels] = (*_KIND, ("backend", Open.BACKEND))
_CLASS: Final[Labels] = (("tenant_class", Open.TENANT_CLASS),)
_CONSUMER: Final[Labels] = (("consumer", Open.CONSUMER),)

# Answers
QUERIES_TOTAL: Final = MetricSpec(
    "fanfuse_queries_total", MetricKind.COUNTER, "Answers stored, by status.", (("status", _values(Status)), *_CLASS)
)
REJECTIONS_TOTAL: Final = MetricSpec(
    "fanfuse_rejections_total", MetricKind.COUNTER, "Queries refused, by code.", (("code", _values(RejectionCode)),)
)
BM25_FALLBACK_TOTAL: Final = MetricSpec(
    "fanfuse_bm25_fallback_total",
    MetricKind.COUNTER,
    "Answers in which some corpus had only keyword lanes because another backend was at fault, by first reason.",
    (("reason", _values(FallbackReason)), *_CLASS),
)
CORPUS_ANSWERS_TOTAL: Final = MetricSpec(
    "fanfuse_corpus_answers_total",
    MetricKind.COUNTER,
    "Selected corpora of answers: answered, with keyword lanes only through a fault, or with every lane lost.",
    (("corpus", Open.CORPUS), ("outcome", ("answered", "bm25_fallback", "lost"))),
)
ANSWER_SECONDS: Final = MetricSpec(
    "fanfuse_answer_seconds", MetricKind.HISTOGRAM, "From the broker's storing of a query to its answer."
)

# Lanes
LANE_SECONDS: Final = MetricSpec(
    "fanfuse_lane_seconds",
    MetricKind.HISTOGRAM,
    "Time of one lane in a worker.",
    (*_BACKEND, ("outcome", ("answered", "empty", "cut", "failed"))),
)
LANE_FAILURES_TOTAL: Final = MetricSpec(
    "fanfuse_lane_failures_total",
    MetricKind.COUNTER,
    "Lanes that failed in a worker, by kind of failure.",
    (*_BACKEND, ("failure", _values(FailureKind))),
)
JOIN_LANES: Final = MetricSpec(
    "fanfuse_join_lanes_total",
    MetricKind.COUNTER,
    "Lanes of answers, by outcome.",
    (*_BACKEND, ("outcome", _values(LaneOutcome))),
)
SHED_LANES_TOTAL: Final = MetricSpec(
    "fanfuse_shed_lanes_total",
    MetricKind.COUNTER,
    "Lanes of answers that may be missing and were left out while their pool was under pressure.",
    _BACKEND,
)
REFUSED_REPLIES_TOTAL: Final = MetricSpec(
    "fanfuse_refused_replies_total",
    MetricKind.COUNTER,
    "Lane replies that were not fused: wrong filter digest, source or lane, or undecodable.",
)

# Quality: what each kind of lane contributed to answers
QUALITY_COMPARED_TOTAL: Final = MetricSpec(
    "fanfuse_quality_compared_hits_total",
    MetricKind.COUNTER,
    "Hits of answers from corpora in which a lane of this kind and one of another kind replied.",
    _KIND,
)
QUALITY_HITS_TOTAL: Final = MetricSpec(
    "fanfuse_quality_hits_total",
    MetricKind.COUNTER,
    "Compared hits that a lane of this kind found: alone (lost without it), or together with another kind.",
    (*_KIND, ("found", ("alone", "together"))),
)
QUALITY_SEATS_TOTAL: Final = MetricSpec(
    "fanfuse_quality_seats_total", MetricKind.COUNTER, "Hits that a reserved seat of this kind lifted.", _KIND
)
QUALITY_PAIRS_TOTAL: Final = MetricSpec(
    "fanfuse_quality_pairs_total",
    MetricKind.COUNTER,
    "Hits of corpora in which both kinds replied, found by both of them or by one.",
    (("pair", tuple(pair_of(one, other) for one, other in combinations(Kind, 2))), ("found", ("both", "one"))),
)

# Stages
STAGE_SECONDS: Final = MetricSpec(
    "fanfuse_stage_seconds", MetricKind.HISTOGRAM, "Handling time of one message in a stage.", _STAGE
)
REDELIVERED_TOTAL: Final = MetricSpec(
    "fanfuse_redelivered_total", MetricKind.COUNTER, "Messages delivered more than once.", _STAGE
)
DEADLETTERS_TOTAL: Final = MetricSpec(
    "fanfuse_deadletters_total", MetricKind.COUNTER, "Messages dead-lettered.", _STAGE
)
DUPLICATES_TOTAL: Final = MetricSpec(
    "fanfuse_duplicates_total", MetricKind.COUNTER, "Publishes refused by the broker as duplicates.", _STAGE
)
IN_FLIGHT: Final = MetricSpec("fanfuse_in_flight", MetricKind.GAUGE, "Messages being handled now.", _STAGE)

# Queues
CONSUMER_PENDING: Final = MetricSpec(
    "fanfuse_consumer_pending", MetricKind.GAUGE, "Messages that wait for a worker (num_pending).", _CONSUMER
)
CONSUMER_ACK_PENDING: Final = MetricSpec(
    "fanfuse_consumer_ack_pending",
    MetricKind.GAUGE,
    "Messages delivered and not acknowledged yet (num_ack_pending).",
    _CONSUMER,
)
CONSUMER_OLDEST_SECONDS: Final = MetricSpec(
    "fanfuse_consumer_oldest_seconds",
    MetricKind.GAUGE,
    "Age of the oldest message that is not done; 0 where there is none.",
    _CONSUMER,
)

# Health
BACKEND_DEGRADED: Final = MetricSpec(
    "fanfuse_backend_degraded",
    MetricKind.GAUGE,
    "1 while a backend is degraded or has no worker, 0.5 while half-open, 0 while healthy.",
    _BACKEND,
)

# Processes
READY: Final = MetricSpec("fanfuse_ready", MetricKind.GAUGE, "1 while this process may get work.")
BUS_CONNECTED: Final = MetricSpec("fanfuse_bus_connected", MetricKind.GAUGE, "1 while this process is connected.")
RECONNECTS_TOTAL: Final = MetricSpec(
    "fanfuse_bus_reconnects_total", MetricKind.COUNTER, "Connections to the bus that were lost and came back."
)
REGISTRY_AGE_SECONDS: Final = MetricSpec(
    "fanfuse_registry_age_seconds",
    MetricKind.GAUGE,
    "Since the registry of corpora last answered this process; at rest it is asked every five seconds.",
)
TASKS: Final = MetricSpec(
    "fanfuse_tasks", MetricKind.GAUGE, "Tasks of this process's event loop; what grows without end here leaks."
)
SLOW_CONSUMER_TOTAL: Final = MetricSpec(
    "fanfuse_slow_consumer_total", MetricKind.COUNTER, "Messages the client dropped because a subscription was full."
)

METRICS: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, MetricSpec))
