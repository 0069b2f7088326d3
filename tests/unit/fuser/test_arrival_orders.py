"""One plan, the same lane results in every order, doubled, read, heard and late: one answer, bit for bit."""

import random

import pytest

from fanfuse_contracts.enums import Status
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.retrieval import LaneHit, LaneReply
from fanfuse_fuser.joining import PlanRun, World
from tests.unit.fuser.fuser_builders import (
    MemoryPools,
    MemoryReplies,
    MemoryTexts,
    lane,
    planned,
    raw,
    reply,
    shared_lane,
)

ORDERS = 340
"""For each of the three policies."""
LANES = [
    *(lane(kind, corpus, weight) for corpus, weight in (("a", 1.3), ("b", 0.4)) for kind in ("vector", "keyword")),
    lane("graph", "a", 0.7),
    shared_lane("vector", "b", "c", weight=0.9),
]


def hits_of(draw: random.Random, one) -> list[LaneHit]:
    """Scores with ties, chunks that several lanes find, hashes that several corpora share."""
    names = draw.sample(range(45), 30)
    scores = sorted((round(draw.random(), 1) for _ in names), reverse=True)
    return [
        LaneHit(
            chunk_id=f"c{name}",
            rank=rank,
            score=score,
            content_hash=f"h{name}" if name % 3 else f"{one.corpus}-{name}",
            title=f"T {name}",
            corpus=("b", "c")[name % 2] if one.corpora else None,
        )
        for rank, (name, score) in enumerate(zip(names, scores, strict=True), start=1)
    ]


DRAW = random.Random("results")
RESULTS: list[LaneReply] = [reply(one, hits_of(DRAW, one)) for one in LANES]
PLANS = {policy: FusionConfig(policy=policy) for policy in FusionPolicy}


class StillClock:
    """No time passes, so that nothing of an answer depends on it."""

    def elapsed_ms(self, submitted_ns: int) -> float:
        return float(submitted_ns)

    def was_interrupted(self, submitted_ns: int, budget_ms: int) -> bool:
        return False


async def answered(policy, stored, heard=(), late=(), **query):
    """The answer of the plan: some replies read, some heard in their order, some while texts are fetched."""
    replies, texts = MemoryReplies([raw(one) for one in stored]), MemoryTexts(gone=["c3"])
    plan = planned(LANES, budget_ms=20_000, **query)
    plan = plan.model_copy(update={"plan": plan.plan.model_copy(update={"fusion": PLANS[policy]})})
    texts.before = lambda: replies.hear(*late)
    run = PlanRun(plan, World(replies, texts, MemoryPools(), StillClock()))
    read = replies.stored

    async def read_then_hear(*args):
        found = await read(*args)
        replies.hear(*heard)
        return found

    replies.stored = read_then_hear  # type: ignore[method-assign]
    return (await run.run()).answer


@pytest.mark.parametrize("policy", list(FusionPolicy))
async def test_a_thousand_arrivals_give_one_answer(policy):
    """FUS-07, JOI-05: 340 orders of each policy, with doubles, some read, some heard, some late."""
    wanted = (await answered(policy, RESULTS)).to_json()
    for number in range(ORDERS):
        draw = random.Random(f"{policy}-{number}")
        order = draw.sample(RESULTS, len(RESULTS))
        cut = draw.randint(0, len(order))
        doubles = draw.choices(RESULTS, k=draw.randint(0, 6))
        heard = draw.sample([*order[cut:], *doubles], len(order) - cut + len(doubles))
        late = draw.choices(RESULTS, k=draw.randint(0, 4))
        answer = await answered(policy, order[:cut], heard, late)
        assert answer.status is Status.COMPLETE
        assert answer.to_json() == wanted, number


@pytest.mark.parametrize("policy", list(FusionPolicy))
@pytest.mark.parametrize("include_text", [True, False])
async def test_a_short_answer_is_a_prefix_of_a_long_one(policy, include_text):
    """FUS-08, FUS-09: top_k 3 of 10 of 50, and pages that join without holes."""
    whole = (await answered(policy, RESULTS, top_k=50, include_text=include_text)).hits
    assert len(whole) == 50
    for top_k in (3, 10):
        assert (await answered(policy, RESULTS, top_k=top_k, include_text=include_text)).hits == whole[:top_k]
    if not include_text:  # a deleted chunk is dropped from the page that would show it, and its place is kept
        pages = [await answered(policy, RESULTS, top_k=10, offset=at, include_text=False) for at in range(0, 50, 10)]
        assert tuple(hit for page in pages for hit in page.hits) == whole
