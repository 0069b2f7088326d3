"""The trace of a query: its spans, which hangs under which, and their attributes. A test walks real traces to prove it.

No span name holds an id; no attribute holds a query id, a user or a text.
"""

from dataclasses import dataclass
from typing import Final

CALLER: Final = "caller"
"""The span of whoever asked; where the message carries none, a new trace begins."""

# Spans of handlers are named `<stage> <handler>`.
SUBMITTED: Final = "classifier on_query_submitted"
CLASSIFIED: Final = "corpus-router on_query_classified"
CORPUS_ROUTE: Final = "corpus.route"
RETRIEVE: Final = "backend-workers on_retrieve"
PLANNED: Final = "fuser on_query_planned"
CHUNKS: Final = "backend-workers on_chunks_get"
RETRIEVE_ROUTE: Final = "retrieve.route"
DECIDE: Final = "classifier on_query_decide"
ROUTE_DECIDE: Final = "corpus-router on_route_decide"

EDGES: Final = {
    SUBMITTED: CALLER,
    CLASSIFIED: SUBMITTED,
    CORPUS_ROUTE: CLASSIFIED,
    RETRIEVE: CORPUS_ROUTE,
    PLANNED: CORPUS_ROUTE,
    CHUNKS: PLANNED,
    RETRIEVE_ROUTE: PLANNED,
    DECIDE: CALLER,
    ROUTE_DECIDE: DECIDE,
}
"""Span to the span it hangs under."""
LINKS: Final = {PLANNED: RETRIEVE}
"""Span to the spans it is linked to: the join, to each lane whose reply it took."""

DELIVERIES: Final = "messaging.nats.deliveries"
"""Of every handler of a work queue: 2 and more is a redelivery."""
TENANT_ID: Final = "rag.tenant_id"
CORPUS_ID: Final = "rag.corpus_id"
LANE_KIND: Final = "rag.lane.kind"
LANE_BACKEND: Final = "rag.lane.backend"
LANE_OUTCOME: Final = "rag.lane.outcome"
LANE_FAILURE: Final = "rag.lane.failure"
ROUTE_ERROR: Final = "rag.route.error"

UNDECIDED: Final = ("fanfuse", "undecided")
"""Entry of `tracestate`: a caller that does not trace made this trace up, so the services decide about recording."""


@dataclass(frozen=True, slots=True)
class SpanSpec:
    """One span: how often it stands in a trace, and its attributes."""

    name: str
    per: str
    attributes: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()
    """Attributes that only some of them have."""


def _under(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}.{name}" for name in names)


_LANE: Final = (LANE_KIND, LANE_BACKEND, LANE_OUTCOME)

SPANS: Final = (
    SpanSpec(SUBMITTED, "query", (DELIVERIES,)),
    SpanSpec(CLASSIFIED, "query", (DELIVERIES,)),
    SpanSpec(
        CORPUS_ROUTE,
        "query",
        _under("rag.corpus_route", "elapsed_ms"),
        _under(
            "rag.corpus_route",
            "strategy", "candidate_n", "selected_n", "fan_out", "selected", "results_n", "rejected", "clarify",
        ),
    ),
    SpanSpec(RETRIEVE, "lane", (DELIVERIES, *_LANE), (LANE_FAILURE,)),
    SpanSpec(PLANNED, "query", (DELIVERIES,)),
    SpanSpec(CHUNKS, "corpus with a hit on the page"),
    SpanSpec(
        RETRIEVE_ROUTE,
        "selected corpus",
        (
            TENANT_ID,
            CORPUS_ID,
            *_under(
                "rag.route", "shape", "use_vector", "use_keyword", "use_graph", "bm25_fallback", "degraded_n",
                "degraded", "weight_vector", "weight_keyword", "weight_graph", "results_n", "elapsed_ms",
            ),
        ),
        (ROUTE_ERROR,),
    ),
    SpanSpec(DECIDE, "question of `query.decide`"),
    SpanSpec(ROUTE_DECIDE, "question of `query.decide`"),
)  # fmt: skip
