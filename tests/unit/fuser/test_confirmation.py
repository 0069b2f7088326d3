"""What an answer could not confirm: sources that are lost, and hits that must not stand in for them."""

import pytest

from fanfuse_contracts.enums import (
    FailureKind,
    Kind,
    LaneOutcome,
    RejectionCode,
    SourceKind,
    Status,
    UnconfirmedReason,
)
from fanfuse_contracts.plan import SkippedLane, Unconfirmed
from fanfuse_fuser.domain.confirmation import is_confirmed
from fanfuse_fuser.domain.join import Join, Verdict
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
    shared_lane,
)

RULES, STATE = lane("keyword", "rules"), lane("keyword", "state", backend="records")
BOTH = {"state": SourceKind.RECORD, "rules": SourceKind.POLICY}
"""The record is selected first: nothing is asked, so its kind must confirm the answer."""


class Scene:
    def __init__(self, lanes, *replies, gone=(), age_ms=0.0, skipped=(), **stated):
        self.texts, pools = MemoryTexts(), MemoryPools()
        pools.gone = set(gone)
        world = World(MemoryReplies([raw(one) for one in replies]), self.texts, pools, LoopClock(age_ms))
        self.run = PlanRun(planned(lanes, skipped, **stated), world)

    async def answer(self):
        return (await self.run.run()).answer


def named(answer):
    return [(one.corpus, one.reason) for one in answer.unconfirmed]


def unhealthy(corpus):
    return SkippedLane(
        corpus=corpus, kind=Kind.KEYWORD, backend="main", outcome=LaneOutcome.SKIPPED_UNHEALTHY, reason="degraded"
    )


async def test_another_kind_of_source_never_stands_in():
    """What the rules say is no answer to what is the case now."""
    scene = Scene((STATE, RULES), failed(STATE, FailureKind.UNAVAILABLE), reply(RULES, hits("a")), sources=BOTH)
    answer = await scene.answer()
    assert (answer.status, answer.hits, answer.total, scene.texts.asked) == (Status.FAILED, (), 0, [])
    assert answer.rejection is not None
    assert (answer.rejection.code, answer.rejection.retryable) == (RejectionCode.UNCONFIRMED, True)
    assert "record 'state' did not answer (keyword/records unavailable)" in answer.rejection.message
    assert "rules" not in answer.rejection.message
    assert named(answer) == [("state", UnconfirmedReason.DOWN)]
    assert [lane.outcome.value for lane in answer.coverage.lanes] == ["failed", "answered"], "what came is still told"
    assert not answer.bm25_fallback


@pytest.mark.parametrize(
    ("gone", "age_ms", "budget_ms"), [(((Kind.KEYWORD, "records"),), 0.0, 2_000), ((), 3_000.0, 2_000), ((), 0.0, 100)]
)
async def test_however_the_source_is_lost(gone, age_ms, budget_ms):
    """No worker, a budget that is over on arrival, or one that runs out."""
    scene = Scene((STATE, RULES), reply(RULES, hits("a")), sources=BOTH, gone=gone, age_ms=age_ms, budget_ms=budget_ms)
    answer = await scene.answer()
    assert answer.rejection is not None
    assert (answer.status, answer.rejection.code) == (Status.FAILED, RejectionCode.UNCONFIRMED)
    assert answer.rejection.retryable
    assert (answer.hits, named(answer)) == ((), [("state", UnconfirmedReason.DOWN)])


def test_a_late_reply_cannot_bring_back_what_was_dropped():
    """It is decided when the join closes, and the answer says the same when it is assembled."""
    plan = planned((STATE, RULES), sources=BOTH)
    join = Join(plan)
    join.offer(reply(RULES, hits("a")), 1.0)
    join.close()
    assert not is_confirmed(plan, join.results())
    assert join.offer(reply(STATE, hits("b")), 2.0) is Verdict.LATE
    assert not is_confirmed(plan, join.results())


async def test_the_caller_is_told_where_asking_again_is_of_no_use():
    scene = Scene((STATE, RULES), failed(STATE, FailureKind.CONFIG), reply(RULES, hits("a")), sources=BOTH)
    rejection = (await scene.answer()).rejection
    assert rejection is not None
    assert not rejection.retryable
    assert "asking again will not help" in rejection.message


@pytest.mark.parametrize("found", [hits("a"), ()])
async def test_a_source_that_answered_confirms_even_that_there_is_nothing(found):
    scene = Scene(
        (STATE, RULES), reply(STATE, found), failed(RULES, FailureKind.UNAVAILABLE), sources=BOTH, budget_ms=300
    )
    answer = await scene.answer()
    assert (answer.status, len(answer.hits), answer.rejection) == (Status.PARTIAL, len(found), None)
    assert named(answer) == [("rules", UnconfirmedReason.DOWN)]


async def test_another_corpus_of_the_same_kind_confirms():
    archive = lane("keyword", "archive")
    sources = BOTH | {"archive": SourceKind.RECORD}
    scene = Scene(
        (STATE, RULES, archive), failed(STATE, FailureKind.TIMEOUT), reply(RULES, hits("a")), reply(archive, hits("b")),
        sources=sources,
    )  # fmt: skip
    answer = await scene.answer()
    assert (answer.status, {hit.corpus for hit in answer.hits}) == (Status.PARTIAL, {"rules", "archive"})
    assert named(answer) == [("state", UnconfirmedReason.DOWN)]


async def test_what_is_asked_names_the_kind_whatever_stands_first():
    scene = Scene(
        (STATE, RULES), failed(STATE, FailureKind.TIMEOUT), reply(RULES, hits("a")),
        sources=BOTH, asked={"rules": ("leave",)},
    )  # fmt: skip
    answer = await scene.answer()
    assert (answer.status, len(answer.hits)) == (Status.PARTIAL, 1)


async def test_of_pinned_corpora_every_kind_confirms():
    scene = Scene(
        (STATE, RULES), failed(STATE, FailureKind.TIMEOUT), reply(RULES, hits("a")),
        sources=BOTH, corpora=("state", "rules"),
    )  # fmt: skip
    answer = await scene.answer()
    assert (answer.status, len(answer.hits)) == (Status.PARTIAL, 1)
    assert named(answer) == [("state", UnconfirmedReason.DOWN)]


async def test_nothing_changes_where_nobody_states_a_source():
    docs, wiki = lane("keyword", "docs"), lane("keyword", "wiki")
    answer = await Scene((docs, wiki), failed(docs, FailureKind.UNAVAILABLE), reply(wiki, hits("a"))).answer()
    assert (answer.status, len(answer.hits), answer.rejection) == (Status.PARTIAL, 1, None)
    assert named(answer) == [("docs", UnconfirmedReason.DOWN)]


async def test_where_no_source_replied_the_statuses_are_as_ever():
    over = await Scene((STATE, RULES), sources=BOTH, age_ms=3_000.0).answer()
    assert over.rejection is not None
    assert (over.status, over.rejection.code) == (Status.EXPIRED, RejectionCode.EXPIRED)
    lost = (failed(one, FailureKind.UNAVAILABLE) for one in (STATE, RULES))
    broken = await Scene((STATE, RULES), *lost, sources=BOTH).answer()
    assert broken.rejection is not None
    assert (broken.status, broken.rejection.code) == (Status.FAILED, RejectionCode.UNAVAILABLE)
    assert named(broken) == [("state", UnconfirmedReason.DOWN), ("rules", UnconfirmedReason.DOWN)]


async def test_what_the_plan_names_is_passed_on_and_not_named_again():
    """Stale, out of scope, down before any call: the router's word comes first."""
    told = [
        Unconfirmed(corpus="rules", reason=UnconfirmedReason.STALE, message="indexed 3 days ago"),
        Unconfirmed(corpus="hr", reason=UnconfirmedReason.OUT_OF_SCOPE, message="cannot confirm salaries"),
        Unconfirmed(corpus="state", reason=UnconfirmedReason.DOWN, message="no worker"),
    ]
    scene = Scene(
        (RULES,), reply(RULES, hits("a")), skipped=[unhealthy("state")], unconfirmed=told,
        sources=BOTH, asked={"rules": ("leave",)},
    )  # fmt: skip
    assert (await scene.answer()).unconfirmed == tuple(told)
    lost = Scene((RULES,), failed(RULES, FailureKind.TIMEOUT), unconfirmed=told)
    assert named(await lost.answer())[3:] == [("rules", UnconfirmedReason.DOWN)], "stale, and now lost too"


async def test_a_corpus_without_any_call_is_not_called_down():
    no_input = unhealthy("state").model_copy(update={"outcome": LaneOutcome.SKIPPED_NO_INPUT})
    for skipped in (no_input, unhealthy("state")):
        answer = await Scene((RULES,), reply(RULES, hits("a")), skipped=[skipped], sources=BOTH).answer()
        assert (named(answer), len(answer.hits)) == ([], 1), "the router has looked at it"


async def test_a_cancelled_query_blames_no_source():
    scene = Scene((STATE, RULES), reply(RULES, hits("a")), sources=BOTH)
    scene.run.cancel()
    answer = await scene.answer()
    assert answer.rejection is not None
    assert (answer.rejection.code, answer.unconfirmed) == (RejectionCode.CANCELLED, ())


async def test_a_shared_lane_confirms_each_of_its_corpora():
    vector = shared_lane("vector", "rules", "state")
    lost = (failed(STATE, FailureKind.UNAVAILABLE), failed(RULES, FailureKind.UNAVAILABLE))
    answer = await Scene((vector, STATE, RULES), reply(vector), *lost, sources=BOTH).answer()
    assert (answer.status, answer.unconfirmed) == (Status.PARTIAL, ())
    gone = await Scene((vector, RULES), failed(vector, FailureKind.UNAVAILABLE), reply(RULES), sources=BOTH).answer()
    assert gone.rejection is not None
    assert gone.rejection.code is RejectionCode.UNCONFIRMED
    assert "vector/main unavailable" in gone.rejection.message
