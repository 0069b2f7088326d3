"""Turns what was decided for a query into messages with their subjects and ids.

In: the classified event and the plan. Out: publications. Ids depend on tenant, query, lane and submission only, so
that a second delivery never sends anything twice.
"""

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.base import SCHEMA_VERSION
from fanfuse_contracts.classification import QueryClassified, fired_names
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.operations import RouteAudited
from fanfuse_contracts.plan import Clarification, Plan, QueryPlanned, Rejection
from fanfuse_contracts.query import Hop
from fanfuse_corpus_router.domain.planning import PlannedQuery
from fanfuse_runtime.bus import Publication

_STAGE = Stage.CORPUS_ROUTER.value


def commands(planned: PlannedQuery) -> tuple[Publication, ...]:
    """One command per lane, each to the pool of its lane."""
    return tuple(
        Publication(
            flow.RETRIEVE,
            subjects.retrieve(lane.kind, lane.pool, command.tenant, command.corpus),
            command,
            streams.message_id(command.tenant, command.query_id, _STAGE, command.lane, command.attempt),
        )
        for lane, command in zip(planned.plan.lanes, planned.commands, strict=True)
    )


def plan(event: QueryClassified, planned: Plan, hops: tuple[Hop, ...]) -> Publication:
    """The order to join, for the fuser."""
    # Every part was validated with the event, or made by the planner.
    message = QueryPlanned.of_checked(
        {
            "schema_version": SCHEMA_VERSION,
            "tenant": event.tenant,
            "query_id": event.query_id,
            "query": event.query,
            "submitted_ns": event.submitted_ns,
            "hops": hops,
            "classification": event.classification,
            "plan": planned,
        }
    )
    return Publication(
        flow.PLANNED,
        subjects.query_planned(event.tenant, event.query_id),
        message,
        streams.message_id(event.tenant, event.query_id, _STAGE, submitted_ns=event.submitted_ns),
    )


def audit(event: QueryClassified, outcome: Plan | Clarification | Rejection) -> Publication:
    """The decision, for operators."""
    message = RouteAudited(
        tenant=event.tenant,
        query_id=event.query_id,
        principal=event.query.principal.id if event.query.principal is not None else None,
        plan=outcome if isinstance(outcome, Plan) else None,
        clarification=outcome if isinstance(outcome, Clarification) else None,
        rejection=outcome if isinstance(outcome, Rejection) else None,
        fired=fired_names(event.corpus_scores),
        submitted_ns=event.submitted_ns,
    )
    return Publication(
        flow.AUDITED,
        subjects.audit(event.tenant),
        message,
        streams.message_id(event.tenant, event.query_id, _STAGE),
    )
