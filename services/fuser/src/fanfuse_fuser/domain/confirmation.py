"""Which sources an answer could not confirm, and when it may therefore show nothing at all.

In: the plan, lane results and reports. Out: sources by name, or a rejection. One kind of truth never stands in for
another: what the rules are is no answer to what is the case.
"""

from collections.abc import Sequence

from fanfuse_contracts.answer import LaneReport
from fanfuse_contracts.confirmation import primary_kinds
from fanfuse_contracts.enums import LaneOutcome, RejectionCode, SourceKind, UnconfirmedReason
from fanfuse_contracts.plan import Plan, QueryPlanned, Rejection, RoutingDecision, Unconfirmed
from fanfuse_fuser.domain.coverage import REPLIED_WELL, corpora_of, lost_lanes, outcome_of
from fanfuse_fuser.domain.fallback import WORTH_A_RETRY, told
from fanfuse_fuser.domain.join import LaneResult


def is_confirmed(planned: QueryPlanned, results: Sequence[LaneResult]) -> bool:
    """False if another kind of source replied, but none of the kinds that must confirm the answer, though asked."""
    decisions = planned.plan.decisions
    if len({decision.source for decision in decisions}) < 2:
        return True
    primary = {decision.corpus for decision in _primary(planned)}
    asked = {corpus for result in results for corpus in corpora_of(result.lane)}
    replied = {corpus for r in results if outcome_of(r) in REPLIED_WELL for corpus in corpora_of(r.lane)}
    return not replied or bool(primary & replied) or not primary & asked


def unconfirmed(plan: Plan, reports: Sequence[LaneReport]) -> tuple[Unconfirmed, ...]:
    """What the plan names, and every selected corpus that was asked and lost all of its lanes."""
    known = {one.corpus for one in plan.unconfirmed if one.reason is UnconfirmedReason.DOWN}
    lost = lost_lanes(reports)
    down = (
        Unconfirmed(
            corpus=decision.corpus,
            reason=UnconfirmedReason.DOWN,
            message=f"none of its lanes answered ({told(lost[decision.corpus])})",
        )
        for decision in plan.decisions
        if decision.corpus not in known and any(report.lane for report in lost.get(decision.corpus, ()))
    )
    return (*plan.unconfirmed, *down)


def refusal(planned: QueryPlanned, reports: Sequence[LaneReport]) -> Rejection:
    """What is told where the answer is not confirmed: which sources are lost, and that no other stands in."""
    lost = lost_lanes(reports)
    primary = [decision for decision in _primary(planned) if decision.corpus in lost]
    gone = [report for decision in primary for report in lost[decision.corpus]]
    retryable = any(report.failure in WORTH_A_RETRY or report.outcome is LaneOutcome.LATE for report in gone)
    what_to_do = "ask again" if retryable else "asking again will not help: look at the coverage"
    return Rejection(
        code=RejectionCode.UNCONFIRMED,
        message=f"could not be confirmed: {_named(primary)} did not answer ({told(gone)}), "
        f"and another kind of source does not stand in: {what_to_do}",
        retryable=retryable,
    )


def _primary(planned: QueryPlanned) -> list[RoutingDecision]:
    decisions = planned.plan.decisions
    kinds = primary_kinds(decisions, pinned=planned.query.corpora is not None)
    return [decision for decision in decisions if decision.source in kinds]


def _named(decisions: Sequence[RoutingDecision]) -> str:
    of_kind: dict[SourceKind, list[str]] = {}
    for decision in decisions:
        of_kind.setdefault(decision.source, []).append(repr(decision.corpus))
    return " and ".join(f"{kind.value} {', '.join(corpora)}" for kind, corpora in of_kind.items())
