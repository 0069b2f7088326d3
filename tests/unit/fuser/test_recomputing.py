"""Every contribution and every score worked out again from the stored answer alone, bit for bit."""

import math
import random

import pytest

from fanfuse_contracts import limits
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.recomputing import recomputed
from fanfuse_fuser.joining import PlanRun, World
from tests.unit.fuser.fuser_builders import (
    LoopClock,
    MemoryPools,
    MemoryReplies,
    MemoryTexts,
    lane,
    planned,
    raw,
    reply,
    shared_lane,
)

EXTREMES = (-1.7e308, 1.7e308, 5e-324, -0.0, 1e-9, 3.0)


def scores_of(draw: random.Random, count: int) -> list[float]:
    match draw.randrange(4):
        case 0:
            return [draw.random() for _ in range(count)]
        case 1:
            return [draw.choice(EXTREMES) for _ in range(count)]
        case 2:
            return [draw.uniform(-50, 0)] * count
        case _:
            return [draw.uniform(-1e3, 1e3) for _ in range(count)]


def hits_of(draw: random.Random, one) -> list[LaneHit]:
    count = draw.randint(0, 40)
    names = [draw.randrange(60) for _ in range(count)]
    return [
        LaneHit(
            chunk_id=f"c{name}",
            rank=rank,
            score=score,
            content_hash=f"h{name}",
            corpus=draw.choice(one.corpora) if one.corpora else None,
        )
        for rank, (name, score) in enumerate(
            zip(names, sorted(scores_of(draw, count), reverse=True), strict=True), start=1
        )
    ]


async def stored_answer(draw: random.Random, fusion: FusionConfig) -> bytes:
    lanes = [lane(kind, corpus, draw.uniform(1e-6, 9.0)) for corpus in ("a", "b") for kind in ("vector", "keyword")]
    lanes.append(shared_lane("graph", "a", "b", weight=draw.uniform(0.1, 2.0)))
    plan = planned(lanes, top_k=50, include_text=False)
    plan = plan.model_copy(update={"plan": plan.plan.model_copy(update={"fusion": fusion})})
    replies = MemoryReplies([raw(reply(one, hits_of(draw, one))) for one in lanes])
    outcome = await PlanRun(plan, World(replies, MemoryTexts(), MemoryPools(), LoopClock())).run()
    return outcome.answer.to_json()


@pytest.mark.parametrize("policy", list(FusionPolicy))
async def test_every_value_and_score_comes_out_again_bit_for_bit(policy):
    checked = 0
    for number in range(60):
        draw = random.Random(f"{policy}-{number}")
        k = draw.randint(9, 200) if policy.ranked else limits.RRF_K
        body = await stored_answer(draw, FusionConfig(policy=policy, reserved_seats=draw.randint(0, 3), k=k))
        # As another process reads it, with nothing else at hand.
        answer = Answer.from_json(body)
        assert answer.fusion is not None
        reports = {one.lane: one for one in answer.coverage.lanes}
        for hit in answer.hits:
            again = [recomputed(part, reports[part.lane], answer.fusion) for part in hit.contributions]
            assert again == [part.value for part in hit.contributions]
            assert math.fsum(value for value in again if value is not None) == hit.score
            checked += len(again)
    assert checked > 1_000


async def test_an_answer_that_does_not_tell_the_scores_of_a_lane_is_not_guessed_at():
    answer = Answer.from_json(await stored_answer(random.Random(1), FusionConfig()))
    assert answer.fusion is not None
    part = answer.hits[0].contributions[0]
    report = next(one for one in answer.coverage.lanes if one.lane == part.lane)
    older = report.model_copy(update={"lowest_score": None, "highest_score": None})
    assert recomputed(part, older, answer.fusion) is None
    assert recomputed(part.model_copy(update={"score": None}), report, answer.fusion) is None


async def test_the_plan_says_how_to_fuse_and_a_plan_without_it_leaves_it_to_the_fuser():
    """Any fuser gives the same answer, whatever its own configuration; an older router states nothing."""
    lanes = [lane("vector", weight=0.5), lane("keyword")]
    stated, own = FusionConfig(policy=FusionPolicy.RRF, k=20), FusionConfig(policy=FusionPolicy.RRF_RANK, k=33)
    stored = [raw(reply(one, [LaneHit(chunk_id="x", rank=1, score=1.0, content_hash="h")])) for one in lanes]
    plan = planned(lanes)
    for in_plan, wanted in ((stated, stated), (None, own)):
        made = plan.model_copy(update={"plan": plan.plan.model_copy(update={"fusion": in_plan})})
        run = PlanRun(made, World(MemoryReplies(stored), MemoryTexts(), MemoryPools(), LoopClock(), own))
        answer = (await run.run()).answer
        assert answer.fusion is not None
        assert (answer.fusion.policy, answer.fusion.k) == (wanted.policy, wanted.k)
