"""One plan from arrival to answer, with the world in memory and time on the test's loop."""

import asyncio

import pytest

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import FailureKind, FallbackReason, Kind, LaneOutcome, RejectionCode, Status
from fanfuse_contracts.plan import SkippedLane
from fanfuse_fuser.joining import PlanRun, World
from fanfuse_fuser.ports import RawReply
from tests.unit.fuser.fuser_builders import (
    LoopClock,
    MemoryPools,
    MemoryReplies,
    MemoryTexts,
    contents_of,
    failed,
    hits,
    lane,
    planned,
    raw,
    reply,
)

VECTOR, KEYWORD, GRAPH = lane("vector"), lane("keyword", backend="kw"), lane("graph", backend="gr")
LANES = (VECTOR, KEYWORD, GRAPH)


class Scene:
    """A world and the run of one plan in it."""

    def __init__(self, stored=(), lanes=LANES, skipped=(), age_ms=0.0, texts=None, **query):
        self.replies = MemoryReplies([raw(one) for one in stored])
        self.texts = texts or MemoryTexts()
        self.pools = MemoryPools()
        self.plan = planned(lanes, skipped, **query)
        world = World(self.replies, self.texts, self.pools, LoopClock(age_ms))
        self.run = PlanRun(self.plan, world)

    async def answer(self) -> Answer:
        self.outcome = await self.run.run()
        assert self.replies.listeners == [], "unsubscribed, always"
        return self.outcome.answer

    def silent(self):
        return {one.lane.name for one in self.outcome.silent}

    def later(self, delay_s, *replies):
        asyncio.get_running_loop().call_later(delay_s, self.replies.hear, *replies)


def code_of(answer: Answer) -> RejectionCode | None:
    return answer.rejection.code if answer.rejection else None


def outcomes(answer):
    return {one.lane or f"{one.corpus}-{one.kind.value}": one.outcome.value for one in answer.coverage.lanes}


async def test_replies_that_overtook_the_plan_are_used():
    """JOI-05: what is stored before the plan arrives is read, what comes after is heard."""
    scene = Scene([reply(KEYWORD, hits("a"))])
    scene.later(0.02, reply(VECTOR, hits("b", "a")), reply(GRAPH))
    answer = await scene.answer()
    assert answer.status is Status.COMPLETE
    assert [hit.chunk_id for hit in answer.hits] == ["a", "b"]
    assert [hit.text for hit in answer.hits] == ["text of docs a", "text of docs b"]
    assert answer.elapsed_ms < 1_500.0, "finished when all lanes were in, long before the budget"
    assert scene.outcome.silent == ()


async def test_a_stored_reply_is_not_missed_when_the_first_read_is_stale():
    scene = Scene([reply(VECTOR, hits("a")), reply(GRAPH)])
    scene.replies.at_read[2] = [raw(reply(KEYWORD, hits("a")))]
    answer = await scene.answer()
    assert answer.status is Status.COMPLETE
    assert scene.replies.reads == 2
    assert 50.0 <= answer.elapsed_ms < 1_500.0


async def test_a_reply_read_and_heard_counts_once():
    stored = [reply(one, hits("a")) for one in LANES[:2]]
    scene = Scene(stored)
    scene.later(0.01, *stored, reply(GRAPH, hits("a")))
    answer = await scene.answer()
    assert len(answer.hits) == 1
    assert len(answer.hits[0].contributions) == 3
    assert answer.coverage.rejected_replies == 0


async def test_a_lane_that_never_replies_costs_the_budget_and_no_more():
    scene = Scene([reply(KEYWORD, hits("a")), reply(GRAPH)], budget_ms=400)
    answer = await scene.answer()
    assert answer.status is Status.PARTIAL
    assert 300.0 <= answer.elapsed_ms < 1_500.0
    report = answer.coverage.lanes[0]
    assert (report.outcome, report.failure, report.waited_ms) == (LaneOutcome.FAILED, FailureKind.TIMEOUT, None)
    assert scene.silent() == {"docs-vector"}
    assert not answer.bm25_fallback, "a graph lane is alive"


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        (failed(VECTOR, FailureKind.EMBEDDER), FallbackReason.EMBEDDER),
        (failed(VECTOR, FailureKind.UNAVAILABLE), FallbackReason.FAILED),
        (None, FallbackReason.NO_WORKER),
    ],
)
async def test_vector_search_dies_and_comes_back(lost, reason):
    """HEA-05: embedder down, engine down, worker scaled to 0: marked each time, and cleared on recovery."""
    lanes = (VECTOR, KEYWORD)
    scene = Scene([reply(KEYWORD, hits("a")), *([lost] if lost else [])], lanes)
    scene.pools.gone = set() if lost else {(Kind.VECTOR, "main")}
    answer = await scene.answer()
    assert answer.status is Status.PARTIAL
    assert (answer.bm25_fallback, answer.bm25_fallback_corpora) == (True, ("docs",))
    assert answer.bm25_fallback_reasons == (reason,)
    assert answer.elapsed_ms < 1_500.0, "an absent pool is not waited for"
    assert scene.silent() == (set() if lost else {"docs-vector"})

    answer = await Scene([reply(KEYWORD, hits("a")), reply(VECTOR, hits("a"))], lanes).answer()
    assert (answer.status, answer.bm25_fallback, answer.bm25_fallback_reasons) == (Status.COMPLETE, False, ())


async def test_a_pool_that_goes_absent_ends_the_wait():
    scene = Scene([reply(KEYWORD, hits("a")), reply(GRAPH)])
    asyncio.get_running_loop().call_later(0.1, scene.pools.gone.add, (Kind.VECTOR, "main"))
    answer = await scene.answer()
    assert answer.elapsed_ms < 1_500.0
    assert answer.coverage.lanes[0].failure is FailureKind.UNAVAILABLE
    assert answer.coverage.lanes[0].reason.startswith("no_worker")


async def test_a_reply_during_the_text_fetch_is_late():
    scene = Scene([reply(KEYWORD, hits("a")), reply(GRAPH)], budget_ms=600)
    scene.texts.before = lambda: scene.replies.hear(reply(VECTOR, hits("z")))
    answer = await scene.answer()
    assert outcomes(answer)["docs-vector"] == "late"
    assert answer.coverage.late == 1
    assert [hit.chunk_id for hit in answer.hits] == ["a"]
    assert scene.outcome.silent == (), "it did reply"


async def test_no_lane_answered():
    scene = Scene([failed(VECTOR, FailureKind.UNAVAILABLE), failed(KEYWORD, FailureKind.TIMEOUT)], (VECTOR, KEYWORD))
    answer = await scene.answer()
    assert (answer.status, answer.hits) == (Status.FAILED, ())
    assert code_of(answer) is RejectionCode.UNAVAILABLE
    assert scene.texts.asked == []


async def test_empty_lanes_are_a_complete_answer():
    answer = await Scene([reply(one) for one in LANES]).answer()
    assert (answer.status, answer.hits, answer.total, answer.rejection) == (Status.COMPLETE, (), 0, None)


async def test_budget_over_on_arrival():
    """JOI-06: the budget is a duration since the broker stored the query; no lane in time means expired."""
    scene = Scene(age_ms=3_000.0)
    answer = await scene.answer()
    assert (answer.status, code_of(answer)) == (Status.EXPIRED, RejectionCode.EXPIRED)
    assert answer.elapsed_ms < 3_500.0
    assert scene.outcome.silent == (), "no backend had time to answer"


async def test_a_plan_taken_over_late_is_answered_from_what_is_stored():
    """JOI-06: the replies of a plan whose first fuser died outlive its budget; texts have no time left."""
    answer = await Scene([reply(one, hits("a")) for one in LANES], age_ms=2_500.0).answer()
    assert answer.status is Status.COMPLETE
    assert [hit.chunk_id for hit in answer.hits] == ["a"]
    assert answer.missing_texts == ("a",)


async def test_cancelled_while_it_waits():
    no_vector = SkippedLane(
        corpus="hr", kind=Kind.VECTOR, backend="main", outcome=LaneOutcome.SKIPPED_NO_INPUT, reason="no vector"
    )
    scene = Scene([reply(KEYWORD, hits("a"))], skipped=[no_vector])
    asyncio.get_running_loop().call_later(0.02, scene.run.cancel)
    answer = await scene.answer()
    assert (answer.status, code_of(answer)) == (Status.EXPIRED, RejectionCode.CANCELLED)
    assert answer.hits == ()
    assert answer.elapsed_ms < 1_500.0
    assert (scene.outcome.silent, scene.texts.asked) == ((), [])
    assert outcomes(answer) == {
        "docs-vector": "failed", "docs-keyword": "answered", "docs-graph": "failed", "hr-vector": "skipped_no_input",
    }  # fmt: skip


async def test_cancelled_while_texts_are_fetched():
    class SlowTexts(MemoryTexts):
        async def fetch(self, *_args):
            await asyncio.sleep(10)

    scene = Scene([reply(one, hits("a")) for one in LANES], texts=SlowTexts(), budget_ms=20_000)
    asyncio.get_running_loop().call_later(0.02, scene.run.cancel)
    answer = await scene.answer()
    assert (code_of(answer), answer.hits, answer.missing_texts) == (RejectionCode.CANCELLED, (), ())
    assert answer.elapsed_ms < 1_500.0


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "null", '"high"'])
async def test_a_reply_that_is_not_strict_json_is_counted_and_never_published(token):
    """QDR-05: a score that is not finite spoils its reply at the border; the answer is strict JSON."""
    body = reply(VECTOR, hits("x")).to_json().replace(b'"score":1.0', b'"score":' + token.encode())
    scene = Scene([reply(KEYWORD, hits("a")), reply(GRAPH)])
    scene.replies.now_stored.append(RawReply(VECTOR.name, body))
    answer = await scene.answer()
    assert (answer.status, answer.coverage.rejected_replies) == (Status.PARTIAL, 1)
    assert answer.coverage.lanes[0].reason == "the reply could not be decoded"
    published = answer.to_json()
    assert token.encode() not in published or token in {"null"}
    assert Answer.from_json(published) == answer


async def test_a_reply_in_the_name_of_another_lane_is_refused():
    scene = Scene(budget_ms=100)
    scene.replies.now_stored = [RawReply("docs-vector", reply(KEYWORD, hits("x")).to_json()), RawReply("", b"{")]
    answer = await scene.answer()
    assert answer.coverage.rejected_replies == 2, "each once, though both reads find them"
    assert (answer.status, answer.hits) == (Status.FAILED, ())


async def test_pages_and_texts_of_a_run():
    """FUS-08, FUS-09: top_k and offset never change what is fused."""
    names = [f"c{number:02}" for number in range(60)]
    stored = [reply(VECTOR, hits(*names)), reply(KEYWORD, hits(*reversed(names))), reply(GRAPH)]
    whole = (await Scene(stored, top_k=50).answer()).hits
    for top_k in (1, 3, 5, 10):
        assert (await Scene(stored, top_k=top_k).answer()).hits == whole[:top_k]
    second = await Scene(stored, top_k=10, offset=10).answer()
    assert second.hits == whole[10:20]
    assert second.total == 60
    beyond = await Scene(stored, top_k=10, offset=90).answer()
    assert (beyond.status, beyond.hits, beyond.total) == (Status.COMPLETE, (), 60)


async def test_deleted_and_missing_texts():
    lanes = (lane("vector", "legal"), lane("vector", "wiki"), lane("vector", "hr"))
    stored = [reply(one, contents_of(one.corpus, *hits("a", "b"))) for one in lanes]
    scene = Scene(stored, lanes, texts=MemoryTexts(gone=["a"], silent=["wiki"]), top_k=4)
    answer = await scene.answer()
    assert [(hit.corpus, hit.chunk_id, hit.text) for hit in answer.hits] == [
        ("wiki", "a", None),
        ("legal", "b", "text of legal b"),
        ("wiki", "b", None),
        ("hr", "b", "text of hr b"),
    ]
    assert (answer.gone, answer.missing_texts) == (2, ("a", "b"))
    assert sorted(scene.texts.asked) == [("hr", ("a", "b")), ("legal", ("a", "b")), ("wiki", ("a", "b"))]


async def test_no_text_is_fetched_when_none_is_wanted():
    scene = Scene([reply(one, hits("a")) for one in LANES], include_text=False)
    answer = await scene.answer()
    assert (scene.texts.asked, answer.hits[0].text, answer.missing_texts) == ([], None, ())
