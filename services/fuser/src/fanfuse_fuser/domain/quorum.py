"""Does an answer have the lanes that it must have?

In: reports of every wired lane. Out: the lanes that must answer and were lost, and what the caller is told: hits are
withheld then, for whoever states `must` takes an answer without that lane for a wrong one.
"""

from collections.abc import Iterable, Sequence

from fanfuse_contracts.answer import LaneReport
from fanfuse_contracts.enums import FailureKind, LaneOutcome, RejectionCode
from fanfuse_contracts.plan import Rejection, SkippedLane
from fanfuse_contracts.quorum import LOST, Requirement
from fanfuse_fuser.domain.coverage import corpora_of, outcome_of
from fanfuse_fuser.domain.fallback import WORTH_A_RETRY, word
from fanfuse_fuser.domain.join import LaneResult

_BY_FILTER = frozenset({FailureKind.UNSUPPORTED_FILTER})


def lost_musts(reports: Iterable[LaneReport]) -> tuple[LaneReport, ...]:
    """The lanes that must answer and did not, in the order of the reports."""
    return tuple(one for one in reports if one.requirement is Requirement.MUST and one.outcome in LOST)


def must_is_lost(results: Iterable[LaneResult], skipped: Iterable[SkippedLane]) -> bool:
    """The same of lane results, before there are reports."""
    return any(one.lane.requirement is Requirement.MUST and outcome_of(one) in LOST for one in results) or any(
        one.requirement is Requirement.MUST and one.outcome in LOST for one in skipped
    )


def refusal(lost: Sequence[LaneReport]) -> Rejection:
    """What is told instead of hits: which lanes are lost, what became of them and what to do."""
    retryable = all(_may_pass(report) for report in lost)
    if any(_filter_is_to_blame(report) for report in lost):
        what_to_do = "change the filter, or do not state `must` for it"
    elif retryable:
        what_to_do = "ask again; if it lasts, look at its workers and engine"
    else:
        what_to_do = "asking again will not help: look at the coverage"
    named = ", ".join(f"{'+'.join(corpora_of(one))} {one.kind.value}/{one.backend} {word(one)}" for one in lost)
    return Rejection(
        code=RejectionCode.QUORUM,
        message=f"a lane that must answer was lost ({named}), and its hits are not replaced by others: {what_to_do}",
        retryable=retryable,
    )


def _may_pass(report: LaneReport) -> bool:
    passing = {LaneOutcome.LATE, LaneOutcome.SKIPPED_UNHEALTHY}
    return report.outcome in passing or report.failure in WORTH_A_RETRY


def _filter_is_to_blame(report: LaneReport) -> bool:
    return report.outcome is LaneOutcome.SKIPPED_FILTER or report.failure in _BY_FILTER
