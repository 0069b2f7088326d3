"""Status, lane reports and rejections."""

import pytest

from fanfuse_contracts.enums import FailureKind, LaneOutcome, RejectionCode, Stage, Status
from fanfuse_contracts.plan import SkippedLane
from fanfuse_fuser.domain.assembly import EMPTY_PAGE, Joined, assemble, lanes_to_report
from fanfuse_fuser.domain.join import LaneResult, Loss
from tests.unit.fuser.fuser_builders import failed, hits, lane, planned, reply

VECTOR, KEYWORD, GRAPH = lane("vector"), lane("keyword"), lane("graph")


def got(of, *chunk_ids, **changes):
    return LaneResult(of, reply(of, hits(*chunk_ids), **changes), waited_ms=3.0)


def lost(of, loss=Loss.NEVER_REPLIED):
    return LaneResult(of, loss=loss)


def broke(of, kind):
    return LaneResult(of, failed(of, kind), waited_ms=3.0)


def skipped(outcome, kind="vector", corpus="docs"):
    return SkippedLane(corpus=corpus, kind=kind, backend="main", outcome=LaneOutcome(outcome), reason="because")


def answer(results, skips=(), **query):
    plan = planned([result.lane for result in results], skips, **query)
    return assemble(plan, Joined(tuple(results), 0), EMPTY_PAGE, arrived_ms=1.0, elapsed_ms=8.0)


@pytest.mark.parametrize(
    ("results", "skips", "status"),
    [
        ([got(VECTOR, "a"), got(KEYWORD, "a")], [], "complete"),
        ([got(VECTOR), got(KEYWORD)], [], "complete"),
        ([got(KEYWORD, "a")], [skipped("skipped_no_input")], "complete"),
        ([got(KEYWORD, "a")], [skipped("skipped_unhealthy")], "partial"),
        ([got(KEYWORD, "a")], [skipped("skipped_filter")], "complete"),
        ([got(KEYWORD, "a")], [skipped("skipped_filter", corpus="hr")], "partial"),
        ([got(KEYWORD, "a"), lost(VECTOR)], [], "partial"),
        ([got(KEYWORD, "a"), lost(VECTOR, Loss.LATE)], [], "partial"),
        ([got(KEYWORD, "a"), broke(VECTOR, FailureKind.UNAVAILABLE)], [], "partial"),
        ([got(KEYWORD, "a"), broke(VECTOR, FailureKind.BAD_REQUEST)], [], "partial"),
        ([got(KEYWORD, "a"), lost(VECTOR, Loss.WRONG_DIGEST)], [], "partial"),
        ([got(KEYWORD, "a", outcome="cut")], [], "partial"),
        ([got(KEYWORD), lost(VECTOR)], [], "partial"),
        ([broke(KEYWORD, FailureKind.UNAVAILABLE)], [], "failed"),
        ([broke(KEYWORD, FailureKind.UNAVAILABLE), lost(VECTOR)], [], "failed"),
        ([lost(KEYWORD, Loss.NO_WORKER), lost(VECTOR)], [], "failed"),
        ([lost(KEYWORD, Loss.UNDECODABLE)], [], "failed"),
        ([lost(KEYWORD), lost(VECTOR)], [], "expired"),
        ([lost(KEYWORD), lost(VECTOR, Loss.LATE)], [], "expired"),
        ([broke(KEYWORD, FailureKind.EXPIRED), lost(VECTOR)], [], "expired"),
    ],
)
def test_status(results, skips, status):
    made = answer(results, skips)
    assert made.status.value == status
    assert (made.rejection is None) == (made.status in {Status.COMPLETE, Status.PARTIAL})


def test_every_wired_lane_is_reported_in_the_plan_s_order():
    made = answer([got(VECTOR, "a", "b"), lost(KEYWORD, Loss.LATE)], [skipped("skipped_filter", "graph")])
    rows = [(one.lane, one.kind.value, one.outcome.value, one.hits, one.waited_ms) for one in made.coverage.lanes]
    assert rows == [
        ("docs-vector", "vector", "answered", 2, 3.0),
        ("docs-keyword", "keyword", "late", 0, None),
        (None, "graph", "skipped_filter", 0, None),
    ]
    assert (made.coverage.expected, made.coverage.late) == (2, 1)
    assert made.coverage.lanes[0].elapsed_ms == 1.5
    assert made.coverage.lanes[2].reason == "because"


def test_an_answered_lane_without_hits_is_empty_and_hits_of_a_failure_do_not_count():
    odd = LaneResult(KEYWORD, reply(KEYWORD, hits("a"), outcome="failed", filter_digest=None))
    made = answer([got(VECTOR, outcome="answered"), odd])
    assert [(one.outcome.value, one.hits) for one in made.coverage.lanes] == [("empty", 0), ("failed", 0)]
    assert made.coverage.lanes[1].failure is FailureKind.UNAVAILABLE


def test_hits_that_a_worker_dropped_are_named():
    """FUS-02, QDR-05: refused hits are counted, not forgotten."""
    made = answer([got(VECTOR, "a", dropped_hits=2)])
    assert made.coverage.lanes[0].reason.startswith("2 hits dropped")


@pytest.mark.parametrize(
    ("results", "code", "retryable", "words"),
    [
        ([lost(VECTOR)], RejectionCode.EXPIRED, True, "2000 ms"),
        ([broke(VECTOR, FailureKind.OVERLOADED)], RejectionCode.OVERLOADED, True, "ask again later"),
        ([broke(VECTOR, FailureKind.UNSUPPORTED_FILTER)], RejectionCode.UNSUPPORTED_FILTER, False, "change it"),
        ([broke(VECTOR, FailureKind.CONFIG)], RejectionCode.UNAVAILABLE, False, "vector/main config"),
        ([lost(VECTOR, Loss.NO_WORKER)], RejectionCode.UNAVAILABLE, True, "workers"),
        ([broke(VECTOR, FailureKind.EMBEDDER), lost(GRAPH)], RejectionCode.UNAVAILABLE, True, "graph/main timeout"),
    ],
)
def test_a_rejection_says_what_to_do(results, code, retryable, words):
    rejection = answer(results).rejection
    assert (rejection.code, rejection.retryable) == (code, retryable)
    assert words in rejection.message


@pytest.mark.parametrize(("arrived_ms", "stage"), [(1.0, Stage.BACKEND_WORKERS), (2_000.0, Stage.FUSER)])
def test_what_expires_names_the_stage_that_did_not_come_and_the_lanes(arrived_ms, stage):
    plan = planned([VECTOR, KEYWORD])
    joined = Joined((lost(VECTOR), lost(KEYWORD)), 0)
    made = assemble(plan, joined, EMPTY_PAGE, arrived_ms=arrived_ms, elapsed_ms=2_001.0)
    assert made.rejection is not None
    assert (made.status, made.rejection.code, made.rejection.stage) == (Status.EXPIRED, RejectionCode.EXPIRED, stage)
    assert [one.outcome for one in made.coverage.lanes] == [LaneOutcome.FAILED] * 2


def test_silence_is_held_against_a_backend_only_where_there_was_time():
    results = [lost(VECTOR), lost(GRAPH, Loss.NO_WORKER), lost(KEYWORD, Loss.LATE), got(lane("graph", "hr"))]
    assert [one.lane.name for one in lanes_to_report(results, 1_900.0)] == ["docs-vector", "docs-graph"]
    assert [one.lane.name for one in lanes_to_report(results, 40.0)] == ["docs-graph"]


def test_silence_while_the_bus_was_away_says_nothing_of_a_backend():
    results = [lost(VECTOR), lost(GRAPH, Loss.NO_WORKER)]
    assert [one.lane.name for one in lanes_to_report(results, 1_900.0, interrupted=True)] == ["docs-graph"]


def test_a_lane_that_stood_in_a_queue_says_nothing_of_its_backend():
    """HEA-02: its workers live, and tell of an engine that is slow themselves."""
    results = [lost(VECTOR), lost(KEYWORD), lost(GRAPH, Loss.NO_WORKER)]
    living = {(VECTOR.kind, VECTOR.pool), (GRAPH.kind, GRAPH.pool)}
    assert [one.lane.name for one in lanes_to_report(results, 1_900.0, living)] == ["docs-keyword", "docs-graph"]


def test_times_and_hops():
    made = answer([got(VECTOR, "a")])
    hop = made.hops[-1]
    assert (hop.stage.value, hop.at_ms, hop.took_ms, made.elapsed_ms) == ("fuser", 8.0, 7.0, 8.0)
