"""The wait ends before the last reply where the answer can do without it, and never where it cannot."""

import asyncio

import pytest

from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode, SourceKind, Status
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.plan import SkippedLane
from fanfuse_fuser.joining import PlanRun, World
from tests.unit.fuser.fuser_builders import (
    LoopClock,
    MemoryPools,
    MemoryReplies,
    MemoryTexts,
    failed,
    hits,
    lane,
    planned,
    raw,
    reply,
)

KEYWORD = lane("keyword")
MAY = lane("vector", requirement="may")
MUST = lane("graph", requirement="must")
LONG = hits(*(f"c{number}" for number in range(30)))


class Scene:
    def __init__(self, lanes, stored=(), skipped=(), fusion=None, sources=None, **query):
        self.replies, self.pools, self.texts = MemoryReplies([raw(one) for one in stored]), MemoryPools(), MemoryTexts()
        plan = planned(lanes, skipped, sources=sources, **({"budget_ms": 400} | query))
        if fusion is not None:
            plan = plan.model_copy(update={"plan": plan.plan.model_copy(update={"fusion": fusion})})
        self.run = PlanRun(plan, World(self.replies, self.texts, self.pools, LoopClock()))

    async def answer(self):
        self.outcome = await self.run.run()
        return self.outcome.answer

    def later(self, delay_s, *replies):
        asyncio.get_running_loop().call_later(delay_s, self.replies.hear, *replies)


def of(answer, name):
    return next(one for one in answer.coverage.lanes if one.lane == name)


async def test_a_lane_that_may_answer_is_not_waited_for():
    scene = Scene([KEYWORD, MAY], budget_ms=20_000)
    scene.later(0.02, reply(KEYWORD, hits("a")))
    answer = await scene.answer()
    assert (answer.status, [hit.chunk_id for hit in answer.hits]) == (Status.COMPLETE, ["a"])
    report = of(answer, MAY.name)
    assert (report.outcome, report.requirement.value, report.failure) == (LaneOutcome.NOT_WAITED, "may", None)
    assert "may answer" in report.reason
    assert answer.elapsed_ms < 5_000.0
    assert scene.outcome.silent == (), "its backend is not to blame"
    assert scene.outcome.unwanted, "whoever works for it is told"
    assert not answer.bm25_fallback


async def test_its_reply_counts_where_it_is_there_in_time():
    answer = await Scene([KEYWORD, MAY], [reply(MAY, hits("v")), reply(KEYWORD, hits("a"))]).answer()
    assert {hit.chunk_id for hit in answer.hits} == {"a", "v"}
    assert of(answer, MAY.name).outcome is LaneOutcome.ANSWERED


async def test_stored_replies_count_whatever_their_order():
    """The read brings the keyword lane first; the other one is fused all the same, and nobody is told to stop."""
    scene = Scene([KEYWORD, MAY], [reply(KEYWORD, hits("a")), reply(MAY, hits("v"))])
    answer = await scene.answer()
    assert of(answer, MAY.name).outcome is LaneOutcome.ANSWERED
    assert not scene.outcome.unwanted


@pytest.mark.parametrize("lost", [failed(MAY, "unavailable"), failed(MAY, "bad_request")])
async def test_a_lost_lane_that_may_answer_leaves_the_answer_complete_and_is_named(lost):
    answer = await Scene([KEYWORD, MAY], [lost, reply(KEYWORD, hits("a"))]).answer()
    assert answer.status is Status.COMPLETE
    assert of(answer, MAY.name).outcome is LaneOutcome.FAILED


async def test_without_any_hit_every_lane_is_waited_for():
    """No empty answer while a lane may still bring a hit."""
    scene = Scene([KEYWORD, MAY], [reply(KEYWORD)], budget_ms=20_000)
    scene.later(0.1, reply(MAY, hits("v")))
    answer = await scene.answer()
    assert [hit.chunk_id for hit in answer.hits] == ["v"]


async def test_with_optional_lanes_only_the_first_one_with_hits_is_the_answer():
    scene = Scene([MAY, lane("keyword", requirement="may")], [reply(MAY, hits("v"))], budget_ms=20_000)
    answer = await scene.answer()
    assert (answer.status, [hit.chunk_id for hit in answer.hits]) == (Status.COMPLETE, ["v"])


async def test_all_lanes_lost_is_a_failure():
    lanes = [MAY, lane("keyword", requirement="may")]
    answer = await Scene(lanes, [failed(one, "unavailable") for one in lanes]).answer()
    assert (answer.status, answer.hits) == (Status.FAILED, ())


async def test_a_lane_that_should_answer_is_waited_for():
    scene = Scene([KEYWORD, lane("graph"), MAY], [reply(KEYWORD, hits("a"))])
    answer = await scene.answer()
    assert (answer.status, of(answer, "docs-graph").outcome) == (Status.PARTIAL, LaneOutcome.FAILED)
    assert of(answer, MAY.name).outcome is LaneOutcome.FAILED, "it had the whole budget, and so had its backend"


async def test_a_lane_that_must_answer_is_waited_for():
    scene = Scene([KEYWORD, MUST], [reply(KEYWORD, hits("a"))], budget_ms=20_000)
    scene.later(0.1, reply(MUST))
    answer = await scene.answer()
    assert (answer.status, of(answer, MUST.name).outcome) == (Status.COMPLETE, LaneOutcome.EMPTY)


@pytest.mark.parametrize("lost", [failed(MUST, "unavailable"), None])
async def test_a_lost_must_is_told_at_once_and_withholds_all_hits(lost):
    scene = Scene([KEYWORD, MUST, lane("vector")], [reply(KEYWORD, hits("a"))], budget_ms=20_000)
    if lost is None:
        scene.pools.gone = {(Kind.GRAPH, "main")}
    else:
        scene.later(0.02, lost)
    answer = await scene.answer()
    assert answer.rejection is not None
    assert (answer.status, answer.rejection.code) == (Status.FAILED, RejectionCode.QUORUM)
    assert "docs graph/main" in answer.rejection.message
    assert (answer.hits, answer.total, answer.fusion) == ((), 0, None)
    assert of(answer, "docs-keyword").outcome is LaneOutcome.ANSWERED
    assert answer.elapsed_ms < 5_000.0
    assert scene.texts.asked == []
    assert scene.outcome.unwanted, "the third lane need not go on"


async def test_a_must_that_never_replies_fails_the_answer_when_the_budget_is_over():
    scene = Scene([KEYWORD, MUST], [reply(KEYWORD, hits("a"))])
    answer = await scene.answer()
    assert answer.rejection is not None
    assert (answer.rejection.code, answer.rejection.retryable, answer.hits) == (RejectionCode.QUORUM, True, ())
    assert [one.lane.name for one in scene.outcome.silent] == [MUST.name]


async def test_a_must_that_was_left_out_ends_the_wait_before_it_begins():
    skip = SkippedLane(
        corpus="docs", kind=Kind.GRAPH, backend="main", outcome=LaneOutcome.SKIPPED_UNHEALTHY, reason="degraded",
        requirement=MUST.requirement,
    )  # fmt: skip
    answer = await Scene([KEYWORD], [], [skip], budget_ms=20_000).answer()
    assert (answer.status, answer.rejection is not None) == (Status.FAILED, True)
    assert answer.elapsed_ms < 5_000.0


async def test_a_slow_corpus_of_little_weight_cannot_change_the_page():
    slow = lane("vector", "rare", 0.001)
    fusion = FusionConfig(policy=FusionPolicy.MINMAX, reserved_seats=0)
    scene = Scene([KEYWORD, slow], [reply(KEYWORD, LONG)], fusion=fusion, budget_ms=20_000)
    answer = await scene.answer()
    assert (answer.status, len(answer.hits)) == (Status.COMPLETE, 10)
    assert "changed the page" in of(answer, slow.name).reason
    assert of(answer, slow.name).outcome is LaneOutcome.NOT_WAITED
    assert scene.outcome.unwanted


async def test_its_late_reply_does_not_make_the_answer_partial():
    slow = lane("vector", "rare", 0.001)
    fusion = FusionConfig(policy=FusionPolicy.MINMAX, reserved_seats=0)
    scene = Scene([KEYWORD, slow], [reply(KEYWORD, LONG)], fusion=fusion, budget_ms=20_000)
    late, wrong = reply(slow, hits("x")), reply(slow, hits("x"), kind="graph")
    scene.texts.before = lambda: scene.replies.hear(wrong, late)
    answer = await scene.answer()
    assert (answer.status, answer.coverage.late) == (Status.COMPLETE, 0)
    report = of(answer, slow.name)
    assert (report.outcome, report.waited_ms is not None) == (LaneOutcome.NOT_WAITED, True)


async def test_the_default_seats_wait_for_every_lane():
    slow = lane("vector", "rare", 0.001)
    scene = Scene([KEYWORD, slow], [reply(KEYWORD, LONG)], fusion=FusionConfig())
    answer = await scene.answer()
    assert answer.status is Status.PARTIAL


async def test_another_kind_of_truth_never_ends_the_wait():
    """The policy says what the rules are; the record that must confirm the case is still out."""
    rules, record = lane("keyword", "rules"), lane("keyword", "orders", requirement="may")
    sources = {"orders": SourceKind.RECORD, "rules": SourceKind.POLICY}
    scene = Scene([record, rules], [reply(rules, hits("r"))], sources=sources, budget_ms=20_000)
    scene.later(0.1, reply(record, hits("o")))
    answer = await scene.answer()
    assert {hit.chunk_id for hit in answer.hits} == {"r", "o"}
