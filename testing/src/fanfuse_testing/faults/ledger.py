"""The ledger of a run: every accepted query against what the broker stored and what a subscriber heard.

In: acknowledgements, stored answers, heard answers. Out: a balance, whose `broken` names each promise that was not
kept. Pure, so that a planted loss or double can be shown to be found.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.enums import LaneOutcome, RejectionCode, Status
from fanfuse_contracts.plan import Rejection

GRACE_MS: Final = 2_000.0
"""An answer is in time until so long after its budget."""
_LOST: Final = frozenset(
    {LaneOutcome.FAILED, LaneOutcome.LATE, LaneOutcome.CUT, LaneOutcome.SKIPPED_UNHEALTHY, LaneOutcome.SKIPPED_FILTER}
)


class End(StrEnum):
    """How one accepted query ended."""

    COMPLETE = "complete"
    COMPLETE_LATE = "complete, late"
    PARTIAL = "partial, lost lane named"
    FAILED = "typed failure"
    """With its reason; where no plan was made in time, with the stage that did not come."""
    UNEXPLAINED = "unexplained"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What the ledger needs of an answer. `after_ms`: from the broker's storing of the query to that of the answer."""

    query_id: str
    status: Status
    lost_lanes: tuple[str, ...]
    reason: str
    """Code of the rejection; of `expired` with the stage that it was waiting for."""
    after_ms: float
    late_replies: int

    @classmethod
    def of(cls, answer: Answer, stored_ns: int) -> "StoredAnswer":
        """From an answer and the time at which it was stored, in broker nanoseconds."""
        rejection = answer.rejection
        return cls(
            answer.query_id,
            answer.status,
            tuple(_named(report) for report in answer.coverage.lanes if report.outcome in _LOST),
            _reason(rejection) if rejection is not None else "",
            (stored_ns - answer.submitted_ns) / 1e6 if answer.submitted_ns else answer.elapsed_ms,
            answer.coverage.late,
        )


def _reason(rejection: Rejection) -> str:
    waiting = f" waiting for {rejection.stage.value}" if rejection.stage is not None else ""
    return f"{rejection.code.value}{waiting}"


def _named(report: LaneReport) -> str:
    why = f" {report.failure.value}" if report.failure is not None else ""
    return f"{report.kind.value}/{report.backend} of {report.corpus}: {report.outcome.value}{why}"


@dataclass(frozen=True, slots=True)
class Heard:
    """What a subscriber heard. `published`: as the broker republished it; `resent`: a stored one, sent once more."""

    published: Mapping[str, int]
    resent: Mapping[str, int]
    interrupted: bool = False
    """Its connection was away for a time, so that it may have missed some."""


@dataclass(frozen=True, slots=True)
class Balance:
    """The balance of a run."""

    ends: Mapping[End, int]
    lost_lanes: Mapping[str, int]
    reasons: Mapping[str, int]
    late_replies: int
    resent: int
    after_ms: tuple[float, ...]
    broken: tuple[str, ...]

    @property
    def accepted(self) -> int:
        """Queries whose acceptance the broker acknowledged."""
        return sum(self.ends.values())

    @property
    def complete_share(self) -> float:
        """Share of the accepted ones that were answered completely and in time."""
        return self.ends.get(End.COMPLETE, 0) / max(1, self.accepted)


def end_of(answer: StoredAnswer | None, budget_ms: float) -> End:
    """How a query with this stored answer ended."""
    if answer is None:
        return End.UNANSWERED
    match answer.status:
        case Status.COMPLETE:
            return End.COMPLETE if answer.after_ms <= budget_ms + GRACE_MS else End.COMPLETE_LATE
        case Status.PARTIAL if answer.lost_lanes:
            return End.PARTIAL
        case Status.FAILED | Status.REJECTED if answer.reason:
            return End.FAILED
        case Status.EXPIRED if answer.reason not in {"", RejectionCode.EXPIRED.value}:
            return End.FAILED
    return End.UNEXPLAINED


def balance(
    accepted: Collection[str], unsure: Collection[str], stored: Iterable[StoredAnswer], heard: Heard, budget_ms: float
) -> Balance:
    """Settle a run. `unsure`: sent without an acknowledgement, so that they may or may not have been accepted."""
    answers = list(stored)
    by_id = {answer.query_id: answer for answer in answers}
    ends = {query_id: end_of(by_id.get(query_id), budget_ms) for query_id in accepted}
    mine = [by_id[query_id] for query_id in accepted if query_id in by_id]
    return Balance(
        ends=Counter(ends.values()),
        lost_lanes=Counter(lane for answer in mine for lane in answer.lost_lanes),
        reasons=Counter(answer.reason for answer in mine if answer.reason),
        late_replies=sum(answer.late_replies for answer in mine),
        resent=sum(heard.resent.values()),
        after_ms=tuple(answer.after_ms for answer in mine),
        broken=(
            *(f"{query_id}: {end.value}" for query_id, end in ends.items() if end in {End.UNANSWERED, End.UNEXPLAINED}),
            *_doubles(Counter(answer.query_id for answer in answers), "stored"),
            *_doubles(heard.published, "heard"),
            *_unheard(ends, heard),
            *_unasked(by_id.keys() | heard.published.keys(), {*accepted, *unsure}),
        ),
    )


def _doubles(times: Mapping[str, int], what: str) -> list[str]:
    return [f"{query_id}: {what} {count} times" for query_id, count in times.items() if count > 1]


def _unheard(ends: Mapping[str, End], heard: Heard) -> list[str]:
    if heard.interrupted:
        return []
    stored = (query_id for query_id, end in ends.items() if end is not End.UNANSWERED)
    return [f"{query_id}: stored and not heard" for query_id in stored if query_id not in heard.published]


def _unasked(answered: Iterable[str], asked: Collection[str]) -> list[str]:
    return [f"{query_id}: answered and never asked" for query_id in answered if query_id not in asked]
