"""The command of each lane of a plan.

In: lanes with their input, and the classified query. Out: one frozen `RetrieveCommand` per lane. Time travels as the
submission's broker time and a duration, never as a deadline.
"""

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.plan import Lane, RetrieveCommand
from fanfuse_corpus_router.domain.inputs import LaneInput


def build_command(lane: Lane, found: LaneInput, event: QueryClassified) -> RetrieveCommand:
    """What the lane's worker is told."""
    return RetrieveCommand(
        tenant=event.tenant,
        query_id=event.query_id,
        lane=lane.name,
        corpus=lane.corpus,
        kind=lane.kind,
        backend=lane.backend,
        text=found.text,
        identifiers=found.identifiers,
        vector=found.vector,
        seeds=found.seeds,
        window=lane.window,
        filter=event.query.filter,
        filter_digest=lane.filter_digest,
        submitted_ns=event.submitted_ns,
        budget_ms=event.query.budget_ms,
    )
