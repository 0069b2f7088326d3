"""The answer of a plan: what the join found and the page made of it in, one frozen answer out.

Decides the status and what the caller is told to do; never touches scores or order.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.answer import Answer, Coverage, LaneReport
from fanfuse_contracts.enums import Kind, LaneOutcome, Stage, Status
from fanfuse_contracts.fusion import FusionApplied
from fanfuse_contracts.plan import QueryPlanned, Rejection
from fanfuse_contracts.query import Hop
from fanfuse_fuser.domain import confirmation, coverage, quorum
from fanfuse_fuser.domain.fallback import NO_FALLBACK, Fallback, bm25_fallback, cancellation, rejection_of
from fanfuse_fuser.domain.join import LaneResult, Loss
from fanfuse_fuser.domain.page import Page


@dataclass(frozen=True, slots=True)
class Joined:
    """What the join came to."""

    results: tuple[LaneResult, ...]
    total: int
    """Distinct hits in the fused window."""
    rejected_replies: int = 0
    cancelled: bool = False
    fusion: FusionApplied | None = None
    """How the page was ordered."""


EMPTY_PAGE = Page((), (), 0)


def assemble(planned: QueryPlanned, joined: Joined, page: Page, *, arrived_ms: float, elapsed_ms: float) -> Answer:
    """The one answer. Times are milliseconds since the broker stored the query: of the plan's arrival, and of now."""
    plan = planned.plan
    reports = coverage.lane_reports(joined.results, plan.skipped)
    verdict = _judge(planned, joined, reports, arrived_ms)
    return Answer(
        tenant=planned.tenant,
        query_id=planned.query_id,
        status=verdict.status,
        hits=page.hits,
        coverage=Coverage(
            expected=len(plan.lanes),
            lanes=reports,
            late=sum(report.outcome is LaneOutcome.LATE for report in reports),
            rejected_replies=joined.rejected_replies,
        ),
        fusion=joined.fusion,
        bm25_fallback=bool(verdict.fell_back.corpora),
        bm25_fallback_corpora=verdict.fell_back.corpora,
        bm25_fallback_reasons=verdict.fell_back.reasons,
        shape=plan.shape,
        corpus_decision=plan.corpus_decision,
        decisions=plan.decisions,
        rejection=verdict.rejection,
        unconfirmed=plan.unconfirmed if joined.cancelled else confirmation.unconfirmed(plan, reports),
        total=joined.total,
        missing_texts=page.missing_texts,
        gone=page.gone,
        submitted_ns=planned.submitted_ns,
        elapsed_ms=elapsed_ms,
        hops=(*planned.hops, Hop(stage=Stage.FUSER, at_ms=elapsed_ms, took_ms=max(0.0, elapsed_ms - arrived_ms))),
    )


def lanes_to_report(
    results: Sequence[LaneResult],
    waited_ms: float,
    living: Container[tuple[Kind, str]] = (),
    *,
    interrupted: bool = False,
) -> tuple[LaneResult, ...]:
    """Lanes whose silence is held against their backend: health hears of them from no one else.

    `living`: (kind, pool) with a worker that lived meanwhile. It tells itself of an engine that fails or is slow; a
    command that only stood in the queue behind others, or whose worker or fuser had no CPU, says nothing of the engine.
    `interrupted`: the bus was away, so that commands and replies were lost or late, whoever was asked.
    """
    fair = waited_ms >= limits.FAIR_CALL_MS and not interrupted
    silent = {Loss.NO_WORKER, Loss.NEVER_REPLIED} if fair else {Loss.NO_WORKER}
    lost = (result for result in results if result.loss in silent)
    return tuple(one for one in lost if one.loss is Loss.NO_WORKER or (one.lane.kind, one.lane.pool) not in living)


def has_a_page(planned: QueryPlanned, results: Sequence[LaneResult]) -> bool:
    """False if hits are withheld: a lane is lost that must answer, or what must be confirmed is not."""
    return not quorum.must_is_lost(results, planned.plan.skipped) and confirmation.is_confirmed(planned, results)


class _Verdict(NamedTuple):
    status: Status
    rejection: Rejection | None = None
    fell_back: Fallback = NO_FALLBACK


def _judge(planned: QueryPlanned, joined: Joined, reports: Sequence[LaneReport], arrived_ms: float) -> _Verdict:
    selected = [decision.corpus for decision in planned.plan.decisions]
    fell_back = bm25_fallback(joined.results, planned.plan.skipped, selected)
    if joined.cancelled:
        return _Verdict(Status.EXPIRED, cancellation(), fell_back)
    if lost := quorum.lost_musts(reports):
        return _Verdict(Status.FAILED, quorum.refusal(lost), fell_back)
    if not confirmation.is_confirmed(planned, joined.results):
        return _Verdict(Status.FAILED, confirmation.refusal(planned, reports))
    status = coverage.status_of(reports, only_time_was_lost=coverage.only_time_was_lost(joined.results))
    return _Verdict(status, rejection_of(status, reports, planned.query.budget_ms, arrived_ms), fell_back)
