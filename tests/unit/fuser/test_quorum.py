"""Must, should, may: the truth table against its second statement, what is told, and what is withheld."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_contracts.answer import LaneReport
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, RejectionCode, Status
from fanfuse_contracts.plan import SkippedLane
from fanfuse_contracts.quorum import DEFAULT, LOST, Requirement, strictest
from fanfuse_fuser.domain.assembly import EMPTY_PAGE, Joined, assemble, has_a_page
from fanfuse_fuser.domain.coverage import status_of
from fanfuse_fuser.domain.join import LaneResult, Loss
from fanfuse_fuser.domain.quorum import lost_musts, must_is_lost, refusal
from tests.reference import quorum as reference
from tests.unit.fuser.fuser_builders import failed, hits, lane, planned, reply

CORPORA = ("a", "b", "c")
OF_PLAN = (LaneOutcome.ANSWERED, LaneOutcome.EMPTY, LaneOutcome.CUT, LaneOutcome.FAILED, LaneOutcome.LATE)


def report(requirement, outcome, corpus="a", corpora=(), failure=None):
    return LaneReport(
        lane=None if outcome.value.startswith("skipped") else "l",
        corpus=corpus,
        corpora=corpora,
        kind=Kind.KEYWORD,
        backend="main",
        outcome=outcome,
        requirement=requirement,
        failure=failure,
    )


def second(reports, only_time):
    wired = [reference.Wired(one.requirement.value, one.outcome.value, one.corpora or (one.corpus,)) for one in reports]
    return reference.status(wired, only_time_was_lost=only_time)


def test_every_outcome_and_requirement_stands_in_the_table():
    assert {one.value for one in LaneOutcome} == reference.TABLE.keys()
    for row in reference.TABLE.values():
        assert list(row) == [one.value for one in Requirement]


@pytest.mark.parametrize(("requirement", "outcome"), list(itertools.product(Requirement, LaneOutcome)))
def test_each_cell_beside_a_lane_that_answered(requirement, outcome):
    for corpus in ("a", "b"):
        reports = [report(DEFAULT, LaneOutcome.ANSWERED), report(requirement, outcome, corpus)]
        assert status_of(reports, only_time_was_lost=False).value == second(reports, False)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(Requirement),
            st.sampled_from(LaneOutcome),
            st.lists(st.sampled_from(CORPORA), min_size=1, max_size=3, unique=True),
        ),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_the_status_is_that_of_the_second_statement(lanes, only_time):
    """For every mix of lanes, shared ones too; without an answer there is never a success."""
    reports = [
        # What was left out before any call was never part of a shared search.
        report(requirement, outcome, names[0], tuple(names) if names[1:] and "skip" not in outcome.value else ())
        for requirement, outcome, names in lanes
    ]
    status = status_of(reports, only_time_was_lost=only_time)
    assert status.value == second(reports, only_time)
    if not any(one.outcome in OF_PLAN[:3] for one in reports):
        assert status in {Status.FAILED, Status.EXPIRED}
    assert bool(lost_musts(reports)) <= (status is Status.FAILED)


@pytest.mark.parametrize(
    ("reports", "retryable", "words"),
    [
        ([report("must", LaneOutcome.FAILED, failure=FailureKind.TIMEOUT)], True, "a keyword/main timeout"),
        ([report("must", LaneOutcome.LATE)], True, "a keyword/main late"),
        ([report("must", LaneOutcome.SKIPPED_UNHEALTHY)], True, "look at its workers and engine"),
        ([report("must", LaneOutcome.FAILED, failure=FailureKind.BAD_REQUEST)], False, "look at the coverage"),
        ([report("must", LaneOutcome.SKIPPED_FILTER)], False, "change the filter"),
        ([report("must", LaneOutcome.FAILED, failure=FailureKind.UNSUPPORTED_FILTER)], False, "change the filter"),
        ([report("must", LaneOutcome.LATE, "_all", ("b", "c"))], True, "b+c keyword/main"),
    ],
)
def test_the_refusal_names_the_lane_and_what_to_do(reports, retryable, words):
    told = refusal(lost_musts(reports))
    assert (told.code, told.retryable) == (RejectionCode.QUORUM, retryable)
    assert words in told.message
    assert set(LOST) >= {one.outcome for one in reports}


def answer(results, skips=()):
    plan = planned([result.lane for result in results], skips)
    return assemble(plan, Joined(tuple(results), 0), EMPTY_PAGE, arrived_ms=1.0, elapsed_ms=8.0)


@pytest.mark.parametrize("loss", [None, *Loss])
def test_what_a_lost_lane_means(loss):
    """A lane without a reply, for each reason it may have, and for each requirement."""
    here = LaneResult(lane("keyword"), reply(lane("keyword"), hits("a")))
    for requirement in Requirement:
        lost = lane("vector", requirement=requirement)
        result = LaneResult(lost, failed(lost, "timeout")) if loss is None else LaneResult(lost, loss=loss)
        made = answer([here, result])
        report_ = made.coverage.lanes[1]
        assert report_.requirement is requirement
        assert made.status.value == second(made.coverage.lanes, False)
        assert has_a_page(planned([here.lane, lost]), [here, result]) == (made.status is not Status.FAILED)
        assert (made.rejection is not None and made.rejection.code is RejectionCode.QUORUM) == (
            requirement is Requirement.MUST and report_.outcome in LOST
        )


def test_a_lane_left_out_before_any_call_counts_like_one_that_was_lost():
    here = LaneResult(lane("keyword"), reply(lane("keyword"), hits("a")))
    for outcome in LaneOutcome:
        if not outcome.value.startswith("skipped"):
            continue
        for requirement in Requirement:
            skip = SkippedLane(
                corpus="docs", kind=Kind.GRAPH, backend="main", outcome=outcome, reason="r", requirement=requirement
            )
            made = answer([here], [skip])
            assert made.status.value == second(made.coverage.lanes, False)
            assert must_is_lost([here], [skip]) == (made.status is Status.FAILED)


def test_all_optional_lanes_lost_is_a_failure():
    lanes = [lane(kind, requirement="may") for kind in ("vector", "keyword")]
    made = answer([LaneResult(one, failed(one, "unavailable")) for one in lanes])
    assert made.rejection is not None
    assert (made.status, made.rejection.code) == (Status.FAILED, RejectionCode.UNAVAILABLE)


def test_a_shared_lane_has_the_requirement_of_its_strictest_corpus():
    for given_, wanted in (("may should", "should"), ("may must should", "must"), ("may may", "may")):
        assert strictest(map(Requirement, given_.split())) == wanted
