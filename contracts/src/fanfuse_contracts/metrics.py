"""Every Prometheus metric: name, kind, help, bounded label sets. Unit is seconds, as the names say.

Label sets are pre-created at zero, so `rate()` sees the first event and zero differs from not wired.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fanfuse_contracts.enums import FallbackReason, Kind, LaneOutcome, RejectionCode, Stage, Status

SECONDS_BUCKETS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
)  # fmt: skip


class MetricKind(StrEnum):
    """Prometheus metric type."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric. `labels` maps a label to its closed set; None: filled at run time from configured backends."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[tuple[str, tuple[str, ...] | None], ...] = ()


def _values(enum: type[StrEnum]) -> tuple[str, ...]:
    return tuple(member.value for member in enum)


_STAGE: Final = (("stage", _values(Stage)),)

QUERIES_TOTAL: Final = MetricSpec(
    "fanfuse_queries_total", MetricKind.COUNTER, "Answers stored, by status.", (("status", _values(Status)),)
)
REJECTIONS_TOTAL: Final = MetricSpec(
    "fanfuse_rejections_total", MetricKind.COUNTER, "Queries refused, by code.", (("code", _values(RejectionCode)),)
)
BM25_FALLBACK_TOTAL: Final = MetricSpec(
    "fanfuse_bm25_fallback_total",
    MetricKind.COUNTER,
    "Answers in which some corpus had only keyword lanes because another backend was at fault.",
    (("reason", _values(FallbackReason)),),
)
ANSWER_SECONDS: Final = MetricSpec(
    "fanfuse_answer_seconds", MetricKind.HISTOGRAM, "From the broker's storing of a query to its answer."
)
LANE_SECONDS: Final = MetricSpec(
    "fanfuse_lane_seconds",
    MetricKind.HISTOGRAM,
    "Time of one lane in a worker.",
    (("kind", _values(Kind)), ("outcome", ("answered", "empty", "cut", "failed"))),
)
JOIN_LANES: Final = MetricSpec(
    "fanfuse_join_lanes_total",
    MetricKind.COUNTER,
    "Lanes of answers, by outcome.",
    (("outcome", _values(LaneOutcome)),),
)
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
BACKEND_DEGRADED: Final = MetricSpec(
    "fanfuse_backend_degraded",
    MetricKind.GAUGE,
    "1 while a backend is degraded, 0.5 while half-open, 0 while healthy.",
    (("kind", _values(Kind)), ("backend", None)),
)
SLOW_CONSUMER_TOTAL: Final = MetricSpec(
    "fanfuse_slow_consumer_total", MetricKind.COUNTER, "Messages the client dropped because a subscription was full."
)

METRICS: Final = (
    QUERIES_TOTAL,
    REJECTIONS_TOTAL,
    BM25_FALLBACK_TOTAL,
    ANSWER_SECONDS,
    LANE_SECONDS,
    JOIN_LANES,
    STAGE_SECONDS,
    REDELIVERED_TOTAL,
    DEADLETTERS_TOTAL,
    DUPLICATES_TOTAL,
    IN_FLIGHT,
    BACKEND_DEGRADED,
    SLOW_CONSUMER_TOTAL,
)
