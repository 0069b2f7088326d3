"""What an answer rests on: lane results and skipped lanes in, a report of every wired lane and the status out.

An answer to which no lane contributed is never a success. A shared lane counts for each of its corpora.
"""

from collections.abc import Iterable, Sequence

from fanfuse_contracts.answer import LaneReport
from fanfuse_contracts.enums import FailureKind, LaneOutcome, Status
from fanfuse_contracts.plan import Lane, SkippedLane
from fanfuse_contracts.quorum import LOST, Requirement
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_fuser.domain.join import NOT_WAITED, LaneResult, Loss
from fanfuse_fuser.domain.ranked import RankedList

REPLIED_WELL = frozenset({LaneOutcome.ANSWERED, LaneOutcome.EMPTY, LaneOutcome.CUT})
"""The engine was asked and gave what it has."""
_FUSED = frozenset({LaneOutcome.ANSWERED, LaneOutcome.CUT})
GONE = frozenset({LaneOutcome.FAILED, LaneOutcome.LATE, LaneOutcome.SKIPPED_UNHEALTHY})
"""What a lane that was wired could have given is missing."""
_INCOMPLETE = GONE | {LaneOutcome.CUT}

_LOST: dict[Loss, tuple[FailureKind | None, str]] = {
    Loss.NEVER_REPLIED: (FailureKind.TIMEOUT, "no reply within the budget"),
    Loss.NO_WORKER: (FailureKind.UNAVAILABLE, "no_worker: no worker of the pool is alive"),
    Loss.LATE: (None, "the reply came after the hits were fused"),
    Loss.WRONG_SOURCE: (FailureKind.CONFIG, "the reply names another source than the plan"),
    Loss.WRONG_DIGEST: (FailureKind.UNSUPPORTED_FILTER, "the reply does not attest the filter"),
    Loss.UNDECODABLE: (FailureKind.CONFIG, "the reply could not be decoded"),
    Loss.CANCELLED: (None, "the query was cancelled before a reply came"),
    Loss.OPTIONAL: (None, "it may answer, and every lane that counts had answered"),
    Loss.NO_EFFECT: (None, "no reply of it could have changed the page"),
    Loss.MOOT: (None, "a lane that must answer was lost already"),
}


_OUTCOME_OF_LOSS = {Loss.LATE: LaneOutcome.LATE} | dict.fromkeys(NOT_WAITED, LaneOutcome.NOT_WAITED)


def corpora_of(lane: Lane | LaneReport) -> tuple[str, ...]:
    """The corpora that a lane searches."""
    return lane.corpora or (lane.corpus,)


def ranked_lists(results: Iterable[LaneResult]) -> list[RankedList]:
    """The lists that may be fused, in the plan's order."""
    return [result.ranked for result in results if result.reply is not None and outcome_of(result) in _FUSED]


def outcome_of(result: LaneResult) -> LaneOutcome:
    """What became of a lane of the plan."""
    if result.reply is None:
        return _OUTCOME_OF_LOSS.get(result.loss or Loss.NEVER_REPLIED, LaneOutcome.FAILED)
    if result.reply.outcome is LaneOutcome.ANSWERED and not result.reply.hits:
        return LaneOutcome.EMPTY
    return result.reply.outcome


def lane_reports(results: Sequence[LaneResult], skipped: Sequence[SkippedLane]) -> tuple[LaneReport, ...]:
    """Every wired lane: those of the plan in its order, then the skipped ones."""
    return (*map(_report, results), *map(LaneReport.of_skipped, skipped))


def status_of(reports: Sequence[LaneReport], *, only_time_was_lost: bool) -> Status:
    """Status of an answer: the truth table of the README.

    `only_time_was_lost`: no lane is known to have failed but for the end of the budget.
    """
    corpora = corpora_that_replied(reports)
    if any(report.requirement is Requirement.MUST and report.outcome in LOST for report in reports):
        return Status.FAILED
    if not corpora:
        return Status.EXPIRED if only_time_was_lost else Status.FAILED
    if any(_leaves_a_gap(report, corpora) for report in reports):
        return Status.PARTIAL
    return Status.COMPLETE


def corpora_that_replied(reports: Iterable[LaneReport]) -> frozenset[str]:
    """Corpora of which at least one lane was asked and gave what it has."""
    return frozenset(corpus for report in reports if report.outcome in REPLIED_WELL for corpus in corpora_of(report))


def lost_lanes(reports: Sequence[LaneReport]) -> dict[str, tuple[LaneReport, ...]]:
    """Corpora of which no lane replied, each with the lanes it lost: failed, late, or left out as unhealthy."""
    replied = corpora_that_replied(reports)
    lost: dict[str, tuple[LaneReport, ...]] = {}
    for report in reports:
        if report.outcome in GONE:
            for corpus in set(corpora_of(report)) - replied:
                lost[corpus] = (*lost.get(corpus, ()), report)
    return lost


def only_time_was_lost(results: Sequence[LaneResult]) -> bool:
    """True if every lane of the plan was lost to the clock: none failed, none is without a worker."""
    return all(_out_of_time(result) for result in results)


def _leaves_a_gap(report: LaneReport, corpora_that_answered: frozenset[str]) -> bool:
    if report.requirement is Requirement.MAY:
        return False
    if report.outcome is LaneOutcome.SKIPPED_FILTER:
        return report.corpus not in corpora_that_answered
    return report.outcome in _INCOMPLETE


def _out_of_time(result: LaneResult) -> bool:
    if result.reply is None:
        return result.loss in {Loss.NEVER_REPLIED, Loss.LATE}
    failure = result.reply.failure
    return result.reply.outcome is LaneOutcome.FAILED and failure is not None and failure.kind is FailureKind.EXPIRED


def _report(result: LaneResult) -> LaneReport:
    lane, reply, outcome = result.lane, result.reply, outcome_of(result)
    scale = result.ranked.scale if reply and outcome in _FUSED and reply.hits else None
    failure, reason = _why(reply) if reply else _LOST[result.loss or Loss.NEVER_REPLIED]
    # Every part was validated as part of the plan or the reply, and there is a report for each lane of each answer.
    return LaneReport.of_checked(
        {
            "lane": lane.name,
            "corpus": lane.corpus,
            "corpora": lane.corpora,
            "kind": lane.kind,
            "backend": lane.backend,
            "outcome": outcome,
            "requirement": lane.requirement,
            "shed": False,
            "hits": len(reply.hits) if reply and outcome is not LaneOutcome.FAILED else 0,
            "weight": lane.weight,
            "failure": failure,
            "reason": reason,
            "elapsed_ms": reply.elapsed_ms if reply else None,
            "waited_ms": result.waited_ms,
            "lowest_score": scale.lowest if scale else None,
            "highest_score": scale.highest if scale else None,
        }
    )


def _why(reply: LaneReply) -> tuple[FailureKind | None, str]:
    if reply.outcome is LaneOutcome.FAILED:
        if reply.failure is None:
            return FailureKind.UNAVAILABLE, "the worker gave no reason"
        return reply.failure.kind, reply.failure.message
    if reply.dropped_hits:
        return None, f"{reply.dropped_hits} hits dropped: no chunk id, or a score that is not finite"
    return None, ""
