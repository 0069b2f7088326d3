"""One lane over several corpora: whose hits they are, what they are worth, and what the answer says of each corpus."""

import math
import random

import pytest

from fanfuse_contracts.corpus import ALL_CORPORA
from fanfuse_contracts.enums import FailureKind, FallbackReason, Kind, LaneOutcome, Status
from fanfuse_contracts.filters import digest
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.plan import SkippedLane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.join import Join, Loss, Verdict
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_fuser.joining import PlanRun, World
from tests.unit.fuser.fuser_builders import (
    TENANT,
    LoopClock,
    MemoryPools,
    MemoryReplies,
    MemoryTexts,
    failed,
    hits,
    lane,
    of_corpora,
    planned,
    raw,
    reply,
    shared_lane,
)

RRF = FusionConfig(policy=FusionPolicy.RRF)
VECTOR = shared_lane("vector", "docs", "wiki", weight=1.5)
KEYWORDS = (lane("keyword", "docs"), lane("keyword", "wiki"))
FOUND = of_corpora(hits("a", "b", "a"), "wiki", "docs", "docs")


async def answer_of(*replies, lanes=(VECTOR, *KEYWORDS), skipped=(), gone=(), **query):
    pools = MemoryPools()
    pools.gone = set(gone)
    texts = MemoryTexts()
    world = World(MemoryReplies([raw(one) for one in replies]), texts, pools, LoopClock(), RRF)
    return (await PlanRun(planned(lanes, skipped, **query), world).run()).answer, texts


async def test_hits_of_two_corpora_are_two_hits_with_their_own_texts():
    """FUS-11: a chunk's identity is its corpus and id, also where one lane brings both; it votes with its own rank."""
    answer, texts = await answer_of(
        reply(VECTOR, FOUND), reply(KEYWORDS[0], hits("a")), reply(KEYWORDS[1]), include_text=True
    )
    assert answer.status is Status.COMPLETE
    rows = [(hit.corpus, hit.chunk_id, hit.text, [one.lane for one in hit.contributions]) for hit in answer.hits]
    assert rows == [
        ("docs", "a", "text of docs a", ["all-vector", "docs-keyword"]),
        ("wiki", "a", "text of wiki a", ["all-vector"]),
        ("docs", "b", "text of docs b", ["all-vector"]),
    ]
    assert [one.rank for one in answer.hits[0].contributions] == [3, 1]
    assert answer.hits[0].score == math.fsum((1.5 / 63, 1.0 / 61))
    assert sorted(texts.asked) == [("docs", ("a", "b")), ("wiki", ("a",))]
    (report, *_) = answer.coverage.lanes
    assert (report.corpus, report.corpora, report.hits) == (ALL_CORPORA, ("docs", "wiki"), 3)


def test_a_shared_list_is_worth_what_its_parts_are_worth_with_the_same_ranks():
    chance = random.Random(5)
    corpora = ("docs", "hr", "wiki")
    found = of_corpora(hits(*(f"c{n % 7}" for n in range(20))), *(chance.choice(corpora) for _ in range(20)))
    shared = fuse(
        [RankedList(shared_lane("vector", *corpora), found), RankedList(lane("keyword", "hr"), hits("c1"))], RRF
    )
    apart = [RankedList(lane("vector", one), [hit for hit in found if hit.corpus == one]) for one in corpora]
    separate = fuse([*apart, RankedList(lane("keyword", "hr"), hits("c1"))], RRF)
    assert {(row.corpus, row.chunk_id): row.score for row in shared} == {
        (row.corpus, row.chunk_id): row.score for row in separate
    }


@pytest.mark.parametrize("corpus", ["hr", ALL_CORPORA, None])
def test_a_hit_of_a_corpus_that_the_plan_does_not_name_spoils_the_reply(corpus):
    """Never another corpus's text, whatever the worker says."""
    join = Join(planned([VECTOR, *KEYWORDS]))
    stray = LaneHit(chunk_id="x", rank=4, score=0.1, content_hash="h", corpus=corpus)
    assert join.offer(reply(VECTOR, (*FOUND, stray)), 1.0) is Verdict.WRONG_SOURCE
    assert join.offer(reply(VECTOR, FOUND), 2.0) is Verdict.ACCEPTED


def test_a_hit_of_another_corpus_spoils_the_reply_of_an_ordinary_lane():
    join = Join(planned(KEYWORDS))
    assert join.offer(reply(KEYWORDS[0], of_corpora(hits("a"), "wiki")), 1.0) is Verdict.WRONG_SOURCE
    assert join.offer(reply(KEYWORDS[1], of_corpora(hits("a"), "wiki")), 1.0) is Verdict.ACCEPTED
    assert {one.lane.name: one.loss for one in join.results()} == {
        "docs-keyword": Loss.WRONG_SOURCE, "wiki-keyword": None,
    }  # fmt: skip


@pytest.mark.parametrize("searched", ["docs", "wiki", "docs,hr,wiki", "wiki,docs"])
def test_every_corpus_of_the_plan_must_be_attested(searched):
    join = Join(planned([VECTOR]))
    partial = reply(VECTOR, FOUND, filter_digest=digest(TENANT, searched, None))
    assert join.offer(partial, 1.0) is Verdict.WRONG_DIGEST


@pytest.mark.parametrize(
    ("lost", "gone", "reason"),
    [
        (failed(VECTOR, FailureKind.UNAVAILABLE), (), FallbackReason.FAILED),
        (None, ((Kind.VECTOR, "main"),), FallbackReason.NO_WORKER),
    ],
)
async def test_a_lost_shared_lane_is_lost_for_each_of_its_corpora(lost, gone, reason):
    """HEA-05: the fallback is told per corpus; one that has a graph lane alive has not fallen back."""
    graph = lane("graph", "wiki")
    replies = [reply(KEYWORDS[0], hits("a")), reply(KEYWORDS[1], hits("a")), reply(graph)]
    answer, _ = await answer_of(*replies, *([lost] if lost else []), lanes=(VECTOR, *KEYWORDS, graph), gone=gone)
    assert (answer.status, answer.bm25_fallback_corpora) == (Status.PARTIAL, ("docs",))
    assert answer.bm25_fallback_reasons == (reason,)
    assert answer.unconfirmed == ()


async def test_a_shared_lane_that_answers_covers_each_of_its_corpora():
    filtered = SkippedLane(
        corpus="wiki", kind=Kind.GRAPH, backend="main", outcome=LaneOutcome.SKIPPED_FILTER, reason="no such field"
    )
    answer, _ = await answer_of(reply(VECTOR), lanes=(VECTOR,), skipped=(filtered,))
    assert answer.status is Status.COMPLETE, "another lane of that corpus answered"
