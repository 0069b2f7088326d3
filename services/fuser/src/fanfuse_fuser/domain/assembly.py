"""The answer of a plan: what the join found and the page made of it in, one frozen answer out.

Decides the status and what the caller is told to do; never touches scores or order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fanfuse_contracts.answer import Answer, Coverage, LaneReport
from fanfuse_contracts.enums import LaneOutcome, Stage, Status
from fanfuse_contracts.plan import QueryPlanned, Rejection
from fanfuse_contracts.query import Hop
from fanfuse_fuser.domain import coverage, fallback
from fanfuse_fuser.domain.join import LaneResult, Loss
from fanfuse_fuser.domain.page import Page

MIN_WAIT_TO_BLAME_MS = 250.0
"""A lane that had less time than this is not held against its backend: the caller's budget was too short to tell."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What the join came to."""

    results: tuple[LaneResult, ...]
    total: int
    """Distinct chunks in the fused window."""
    rejected_replies: int = 0
    cancelled: bool = False


EMPTY_PAGE = Page((), (), 0)


def assemble(planned: QueryPlanned, joined: Joined, page: Page, *, arrived_ms: float, elapsed_ms: float) -> Answer:
    """The one answer. Times are milliseconds since the broker stored the query: of the plan's arrival, and of now."""
    plan = planned.plan
    reports = coverage.lane_reports(joined.results, plan.skipped)
    lost = coverage.only_time_was_lost(joined.results)
    status = Status.EXPIRED if joined.cancelled else coverage.status_of(reports, only_time_was_lost=lost)
    selected = [decision.corpus for decision in plan.decisions]
    fell_back = fallback.bm25_fallback(joined.results, plan.skipped, selected)
    return Answer(
        tenant=planned.tenant,
        query_id=planned.query_id,
        status=status,
        hits=page.hits,
        coverage=Coverage(
            expected=len(plan.lanes),
            lanes=reports,
            late=sum(report.outcome is LaneOutcome.LATE for report in reports),
            rejected_replies=joined.rejected_replies,
        ),
        bm25_fallback=bool(fell_back.corpora),
        bm25_fallback_corpora=fell_back.corpora,
        bm25_fallback_reasons=fell_back.reasons,
        shape=plan.shape,
        corpus_decision=plan.corpus_decision,
        decisions=plan.decisions,
        rejection=_rejection(status, joined, planned, reports),
        total=joined.total,
        missing_texts=page.missing_texts,
        gone=page.gone,
        submitted_ns=planned.submitted_ns,
        elapsed_ms=elapsed_ms,
        hops=(*planned.hops, Hop(stage=Stage.FUSER, at_ms=elapsed_ms, took_ms=max(0.0, elapsed_ms - arrived_ms))),
    )


def lanes_to_report(results: Sequence[LaneResult], waited_ms: float) -> tuple[LaneResult, ...]:
    """Lanes whose silence is held against their backend: health hears of them from no one else."""
    silent = {Loss.NO_WORKER, Loss.NEVER_REPLIED} if waited_ms >= MIN_WAIT_TO_BLAME_MS else {Loss.NO_WORKER}
    return tuple(result for result in results if result.loss in silent)


def _rejection(
    status: Status, joined: Joined, planned: QueryPlanned, reports: Sequence[LaneReport]
) -> Rejection | None:
    if joined.cancelled:
        return fallback.cancellation()
    return fallback.rejection_of(status, reports, planned.query.budget_ms)
