"""The ledger of a run under faults finds what is lost, doubled or unexplained, and nothing else."""

from collections import Counter

import pytest

from fanfuse_contracts.answer import Answer, Coverage, LaneReport
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, RejectionCode, Status
from fanfuse_contracts.plan import Rejection
from fanfuse_testing.faults.ledger import End, Heard, StoredAnswer, balance

BUDGET_MS = 2_000
LOST = ("vector/main of docs: late",)


def stored(query_id: str, status: Status = Status.COMPLETE, lost=(), reason="", after_ms=50.0, late=0) -> StoredAnswer:
    return StoredAnswer(query_id, status, lost, reason, after_ms, late)


def settle(*answers: StoredAnswer, accepted=("a", "b"), unsure=(), heard=None, resent=None, interrupted=False):
    published = Counter(answer.query_id for answer in answers) if heard is None else heard
    return balance(accepted, unsure, answers, Heard(published, resent or {}, interrupted), BUDGET_MS)


def test_one_answer_for_each_accepted_query_balances():
    settled = settle(stored("a"), stored("b"))

    assert settled.broken == ()
    assert settled.ends == {End.COMPLETE: 2}
    assert (settled.accepted, settled.complete_share) == (2, 1.0)


@pytest.mark.parametrize(
    ("answers", "options", "broken"),
    [
        ([stored("a")], {}, ["b: unanswered"]),
        ([stored("a"), stored("b"), stored("b")], {"heard": {"a": 1, "b": 1}}, ["b: stored 2 times"]),
        ([stored("a"), stored("b")], {"heard": {"a": 1, "b": 2}}, ["b: heard 2 times"]),
        ([stored("a"), stored("b")], {"heard": {"a": 1}}, ["b: stored and not heard"]),
        ([stored("a"), stored("b"), stored("c")], {}, ["c: answered and never asked"]),
        ([stored("a"), stored("b", Status.PARTIAL)], {}, ["b: unexplained"]),
        ([stored("a"), stored("b", Status.FAILED)], {}, ["b: unexplained"]),
        ([stored("a"), stored("b", Status.EXPIRED)], {}, ["b: unexplained"]),
        ([stored("a"), stored("b", Status.EXPIRED, (), "expired")], {}, ["b: unexplained"]),
    ],
)
def test_what_breaks_a_promise_is_named(answers, options, broken):
    assert list(settle(*answers, **options).broken) == broken


def test_what_is_named_or_typed_or_late_is_counted_and_breaks_nothing():
    settled = settle(
        stored("a", after_ms=BUDGET_MS + 1_999.0),
        stored("b", after_ms=BUDGET_MS + 2_001.0),
        stored("c", Status.PARTIAL, LOST, late=2),
        stored("d", Status.FAILED, LOST, "unavailable"),
        stored("e", Status.EXPIRED, (), "expired waiting for corpus-router"),
        accepted=tuple("abcde"),
    )

    assert settled.broken == ()
    assert settled.ends == {End.COMPLETE: 1, End.COMPLETE_LATE: 1, End.PARTIAL: 1, End.FAILED: 2}
    assert settled.lost_lanes == {LOST[0]: 2}
    assert settled.reasons == {"unavailable": 1, "expired waiting for corpus-router": 1}
    assert (settled.late_replies, settled.complete_share) == (2, 0.2)


def test_an_unacknowledged_query_may_be_answered_or_not_but_never_twice():
    assert settle(stored("a"), accepted=("a",), unsure=("b",)).broken == ()
    assert settle(stored("a"), stored("b"), accepted=("a",), unsure=("b",)).broken == ()
    twice = settle(stored("a"), stored("b"), accepted=("a",), unsure=("b",), heard={"a": 1, "b": 2})
    assert twice.broken == ("b: heard 2 times",)


def test_a_subscriber_whose_connection_was_away_may_have_missed_some():
    settled = settle(stored("a"), stored("b"), heard={"a": 1}, resent={"a": 1}, interrupted=True)

    assert settled.broken == ()
    assert settled.resent == 1


def test_an_answer_names_its_lost_lanes_and_its_time_on_the_broker():
    lanes = (
        LaneReport(corpus="docs", kind=Kind.VECTOR, backend="main", outcome=LaneOutcome.ANSWERED),
        LaneReport(corpus="docs", kind=Kind.GRAPH, backend="main", outcome=LaneOutcome.SKIPPED_NO_INPUT),
        LaneReport(
            corpus="docs", kind=Kind.KEYWORD, backend="eu", outcome=LaneOutcome.FAILED, failure=FailureKind.TIMEOUT
        ),
    )
    answer = Answer(
        tenant="acme",
        query_id="a",
        status=Status.PARTIAL,
        coverage=Coverage(expected=2, lanes=lanes, late=1),
        rejection=Rejection(code=RejectionCode.UNAVAILABLE, message="x"),
        submitted_ns=1_000_000_000,
    )

    row = StoredAnswer.of(answer, 1_250_000_000)

    assert row == StoredAnswer("a", Status.PARTIAL, ("keyword/eu of docs: failed timeout",), "unavailable", 250.0, 1)
