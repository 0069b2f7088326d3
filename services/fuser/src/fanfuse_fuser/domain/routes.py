"""What is told of the way one corpus was searched: its routing decision, and what came of it.

In: an answer, one of its decisions. Out: attributes of the span `retrieve.route` and of the log event that mirrors it.
No text, query id or principal is among them.
"""

from collections.abc import Mapping
from typing import Final

from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.plan import QueryPlanned, RoutingDecision
from fanfuse_contracts.tracing import CORPUS_ID, ROUTE_ERROR, TENANT_ID
from fanfuse_fuser.domain.coverage import lost_lanes
from fanfuse_fuser.domain.fallback import word

EVENT: Final = "retrieval.route_decision"

Attribute = str | bool | int | float | tuple[str, ...]


def routes_of(answer: Answer, elapsed_ms: float) -> list[Mapping[str, Attribute]]:
    """One row per selected corpus, in order; `elapsed_ms`: from the plan to the moment the answer was out."""
    lost = lost_lanes(answer.coverage.lanes)
    return [_route(answer, decision, elapsed_ms, lost.get(decision.corpus, ())) for decision in answer.decisions]


def planned_at_ms(planned: QueryPlanned) -> float:
    """When the router was done with the plan, in milliseconds since the broker stored the query; 0 where unknown."""
    return next((hop.at_ms for hop in reversed(planned.hops) if hop.stage is Stage.CORPUS_ROUTER), 0.0)


def _route(
    answer: Answer, decision: RoutingDecision, elapsed_ms: float, lost: tuple[LaneReport, ...]
) -> Mapping[str, Attribute]:
    weights, degraded = decision.weights, decision.degraded_backends
    said: dict[str, Attribute] = {
        TENANT_ID: answer.tenant,
        CORPUS_ID: decision.corpus,
        "rag.route.shape": decision.shape.value,
        "rag.route.use_vector": decision.use_vector,
        "rag.route.use_keyword": decision.use_keyword,
        "rag.route.use_graph": decision.use_graph,
        "rag.route.bm25_fallback": decision.corpus in answer.bm25_fallback_corpora,
        "rag.route.degraded_n": len(degraded),
        "rag.route.degraded": degraded,
        "rag.route.weight_vector": weights.vector,
        "rag.route.weight_keyword": weights.keyword,
        "rag.route.weight_graph": weights.graph,
        "rag.route.results_n": sum(hit.corpus == decision.corpus for hit in answer.hits),
        "rag.route.elapsed_ms": round(elapsed_ms, 3),
    }
    if lost:
        said[ROUTE_ERROR] = ", ".join(sorted({word(report) for report in lost}))
    return said
