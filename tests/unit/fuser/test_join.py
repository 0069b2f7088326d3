"""The join's state machine."""

import random

import pytest

from fanfuse_contracts.enums import FailureKind, LaneOutcome
from fanfuse_contracts.filters import digest
from fanfuse_fuser.domain.assembly import Joined, assemble
from fanfuse_fuser.domain.coverage import ranked_lists
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.join import Join, Loss, Verdict
from fanfuse_fuser.domain.page import page_of
from tests.unit.fuser.fuser_builders import failed, hits, lane, planned, reply

VECTOR, KEYWORD, GRAPH = lane("vector"), lane("keyword"), lane("graph")
PLAN = planned([VECTOR, KEYWORD, GRAPH])


def losses(join):
    return {result.lane.name: result.loss for result in join.results() if result.loss}


def test_completion_is_by_lane_name():
    """JOI-03: the second reply of a lane is not another lane's; the first one is fused."""
    join = Join(PLAN)
    assert join.offer(reply(VECTOR, hits("a", "b")), 1.0) is Verdict.ACCEPTED
    assert join.offer(reply(VECTOR, hits("b", "a")), 2.0) is Verdict.DUPLICATE
    assert join.offer(reply(KEYWORD, hits("a")), 3.0) is Verdict.ACCEPTED
    assert not join.done()
    assert [one.name for one in join.waiting()] == ["docs-graph"]
    join.offer(reply(GRAPH), 4.0)
    assert join.done()
    assert (join.duplicates, join.rejected) == (1, 0)
    (first, *_) = ranked_lists(join.results())
    assert [hit.chunk_id for hit in first.hits] == ["a", "b"]
    assert [result.waited_ms for result in join.results()] == [1.0, 3.0, 4.0]


def test_an_unplanned_lane_adds_nothing():
    """FUS-05: a lane without weight is not in the plan; a reply of it brings no candidates."""
    join = Join(planned([KEYWORD]))
    assert join.offer(reply(VECTOR, hits("x")), 1.0) is Verdict.UNKNOWN_LANE
    join.offer(reply(KEYWORD, hits("a")), 2.0)
    assert join.rejected == 1
    assert [row.chunk_id for row in fuse(ranked_lists(join.results()))] == ["a"]


def test_a_reply_without_the_filter_digest_is_not_fused():
    join = Join(PLAN)
    for wrong in (None, digest("other", "docs", None)):
        assert join.offer(reply(VECTOR, hits("x"), filter_digest=wrong), 1.0) is Verdict.WRONG_DIGEST
    assert join.rejected == 2
    assert "docs-vector" not in {one.name for one in join.waiting()}
    assert losses(join)["docs-vector"] is Loss.WRONG_DIGEST
    assert join.offer(reply(VECTOR, hits("x")), 2.0) is Verdict.ACCEPTED, "the first valid reply wins"
    assert "docs-vector" not in losses(join)


@pytest.mark.parametrize("change", [{"tenant": "other"}, {"query_id": "q2"}, {"corpus": "hr"}, {"kind": "graph"},
                                    {"backend": "eu"}])  # fmt: skip
def test_a_reply_of_another_source_is_not_fused(change):
    join = Join(PLAN)
    assert join.offer(reply(VECTOR, hits("x"), **change), 1.0) is Verdict.WRONG_SOURCE
    assert losses(join)["docs-vector"] is Loss.WRONG_SOURCE


def test_an_outcome_that_no_worker_can_have_is_refused():
    join = Join(PLAN)
    assert join.offer(reply(VECTOR, outcome=LaneOutcome.SKIPPED_UNHEALTHY), 1.0) is Verdict.UNDECODABLE


def test_a_failure_attests_no_filter():
    join = Join(PLAN)
    assert join.offer(failed(VECTOR, FailureKind.UNAVAILABLE), 1.0) is Verdict.ACCEPTED


def test_late_replies_are_named_and_not_fused():
    join = Join(PLAN)
    join.offer(reply(KEYWORD, hits("a")), 1.0)
    join.close()
    assert join.offer(reply(VECTOR, hits("x")), 9.0) is Verdict.LATE
    assert join.offer(reply(VECTOR, hits("x")), 9.5) is Verdict.DUPLICATE
    assert losses(join) == {"docs-vector": Loss.LATE, "docs-graph": Loss.NEVER_REPLIED}
    assert [row.chunk_id for row in fuse(ranked_lists(join.results()))] == ["a"]


def test_a_lane_without_workers_is_not_waited_for_but_still_taken():
    join = Join(planned([VECTOR, KEYWORD]))
    join.offer(reply(KEYWORD, hits("a")), 1.0)
    join.give_up(["docs-vector", "docs-keyword"])
    assert join.done()
    assert losses(join) == {"docs-vector": Loss.NO_WORKER}
    assert join.offer(reply(VECTOR, hits("b")), 2.0) is Verdict.ACCEPTED
    assert losses(join) == {}


def test_cancelling_ends_the_wait():
    join = Join(PLAN)
    join.cancel()
    assert join.done()
    assert set(losses(join).values()) == {Loss.CANCELLED}


def test_a_thousand_arrivals_give_one_answer():
    """FUS-07, JOI-03: the order of arrival and repeated replies never show in the answer."""
    lanes = [lane(kind, corpus) for corpus in ("legal", "support", "hr") for kind in ("vector", "keyword", "graph")]
    plan = planned(lanes)
    chance = random.Random(3)
    names = [f"c{number}" for number in range(12)]
    replies = [reply(one, hits(*chance.sample(names, 8))) for one in lanes]
    answers = set()
    for _ in range(1_000):
        arrivals = replies + chance.choices(replies, k=5)
        chance.shuffle(arrivals)
        join = Join(plan)
        for one in arrivals:
            join.offer(one, 5.0)
        assert join.done()
        assert join.duplicates == 5
        fused = fuse(ranked_lists(join.results()))
        joined = Joined(join.results(), len(fused), join.rejected)
        page = page_of(fused, 0, 20, None)
        answers.add(assemble(plan, joined, page, arrived_ms=1.0, elapsed_ms=7.0).to_json())
    assert len(answers) == 1
