"""When an answer fell back on keyword search, and what a caller is told when there is no answer.

In: lane results and skipped lanes. Out: corpora with reasons, or a rejection that says what to do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fanfuse_contracts.answer import LaneReport
from fanfuse_contracts.enums import FailureKind, FallbackReason, Kind, RejectionCode, Stage, Status
from fanfuse_contracts.plan import Rejection, SkippedLane
from fanfuse_fuser.domain.coverage import REPLIED_WELL, corpora_of, outcome_of
from fanfuse_fuser.domain.join import LaneResult, Loss

_REASON_OF_FAILURE = {
    FailureKind.UNAVAILABLE: FallbackReason.FAILED,
    FailureKind.OVERLOADED: FallbackReason.FAILED,
    FailureKind.TIMEOUT: FallbackReason.TIMEOUT,
    # The worker found the budget spent in its queue: for the caller the backend was too slow.
    FailureKind.EXPIRED: FallbackReason.TIMEOUT,
    FailureKind.EMBEDDER: FallbackReason.EMBEDDER,
}
_REASON_OF_LOSS = {
    Loss.NEVER_REPLIED: FallbackReason.TIMEOUT,
    Loss.LATE: FallbackReason.TIMEOUT,
    Loss.NO_WORKER: FallbackReason.NO_WORKER,
}
WORTH_A_RETRY = frozenset(_REASON_OF_FAILURE)
"""Failures that another try may not meet."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """Corpora for which only keyword lanes answered through a fault; empty: none."""

    corpora: tuple[str, ...] = ()
    """In the order of selection."""
    reasons: tuple[FallbackReason, ...] = ()
    """Each once, in the order of the enum."""


NO_FALLBACK = Fallback()


def bm25_fallback(results: Sequence[LaneResult], skipped: Sequence[SkippedLane], selected: Iterable[str]) -> Fallback:
    """The corpora with keyword replies only and another kind lost to a fault of its backend, and these faults."""
    replied: dict[str, set[Kind]] = {}
    for result in results:
        if outcome_of(result) in REPLIED_WELL:
            for corpus in corpora_of(result.lane):
                replied.setdefault(corpus, set()).add(result.lane.kind)
    faults = _faults(results, skipped)
    corpora = tuple(corpus for corpus in selected if replied.get(corpus) == {Kind.KEYWORD} and corpus in faults)
    found = {reason for corpus in corpora for reason in faults[corpus]}
    return Fallback(corpora, tuple(reason for reason in FallbackReason if reason in found))


def fault_of(result: LaneResult) -> FallbackReason | None:
    """The fault of a lane's backend; None if it replied, or the request and not the backend is to blame."""
    if result.reply is None:
        return _REASON_OF_LOSS.get(result.loss or Loss.NEVER_REPLIED)
    if outcome_of(result) in REPLIED_WELL:
        return None
    failure = result.reply.failure
    return _REASON_OF_FAILURE.get(failure.kind if failure else FailureKind.UNAVAILABLE)


def rejection_of(
    status: Status, reports: Sequence[LaneReport], budget_ms: int, arrived_ms: float = 0.0
) -> Rejection | None:
    """What is wrong and what to do; None for a status that is an answer. `arrived_ms`: when the plan came here."""
    if status is Status.EXPIRED:
        what = "no lane answered within" if arrived_ms < budget_ms else "the plan came to be joined after"
        return Rejection(
            code=RejectionCode.EXPIRED,
            message=f"{what} the budget of {budget_ms} ms: ask again, with a larger budget_ms",
            retryable=True,
            stage=Stage.BACKEND_WORKERS if arrived_ms < budget_ms else Stage.FUSER,
        )
    if status is not Status.FAILED:
        return None
    kinds = {report.failure for report in reports if report.lane and report.failure}
    lost = told(report for report in reports if report.lane)
    if kinds == {FailureKind.OVERLOADED}:
        code, what_to_do = RejectionCode.OVERLOADED, "ask again later"
    elif kinds == {FailureKind.UNSUPPORTED_FILTER}:
        code, what_to_do = RejectionCode.UNSUPPORTED_FILTER, "no backend could apply the filter: change it"
    elif kinds & WORTH_A_RETRY:
        code, what_to_do = RejectionCode.UNAVAILABLE, "ask again; if it lasts, look at the workers and their engines"
    else:
        code, what_to_do = RejectionCode.UNAVAILABLE, "asking again will not help: look at the coverage"
    return Rejection(
        code=code, message=f"no lane answered ({lost}): {what_to_do}", retryable=bool(kinds & WORTH_A_RETRY)
    )


def told(reports: Iterable[LaneReport]) -> str:
    """Each backend with what became of its lane, once."""
    return ", ".join(sorted({f"{report.kind.value}/{report.backend} {word(report)}" for report in reports}))


def word(report: LaneReport) -> str:
    """What became of a lane that gave nothing."""
    return report.failure.value if report.failure else report.outcome.value


def cancellation() -> Rejection:
    """For a query whose caller no longer waits."""
    return Rejection(code=RejectionCode.CANCELLED, message="the query was cancelled: ask again with a new query id")


def _faults(results: Iterable[LaneResult], skipped: Iterable[SkippedLane]) -> dict[str, set[FallbackReason]]:
    faults: dict[str, set[FallbackReason]] = {}
    for result in results:
        reason = fault_of(result)
        if reason and result.lane.kind is not Kind.KEYWORD:
            for corpus in corpora_of(result.lane):
                faults.setdefault(corpus, set()).add(reason)
    for lane in skipped:
        if lane.fallback_reason and lane.kind is not Kind.KEYWORD:
            faults.setdefault(lane.corpus, set()).add(lane.fallback_reason)
    return faults
