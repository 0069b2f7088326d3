"""HEA-05: when an answer is marked as keyword-only through a fault, for which corpora and why."""

import pytest

from fanfuse_contracts.enums import FailureKind, FallbackReason, LaneOutcome
from fanfuse_contracts.plan import SkippedLane
from fanfuse_fuser.domain.fallback import bm25_fallback
from fanfuse_fuser.domain.join import LaneResult, Loss
from tests.unit.fuser.fuser_builders import failed, hits, lane, reply

VECTOR, KEYWORD, GRAPH = lane("vector"), lane("keyword"), lane("graph")


def ok(of, *chunk_ids):
    return LaneResult(of, reply(of, hits(*chunk_ids)))


def lost(of, loss=Loss.NEVER_REPLIED):
    return LaneResult(of, loss=loss)


def broke(of, kind):
    return LaneResult(of, failed(of, FailureKind(kind)))


def unhealthy(kind="vector", corpus="docs", reason=FallbackReason.DEGRADED):
    return SkippedLane(
        corpus=corpus, kind=kind, backend="main", outcome=LaneOutcome.SKIPPED_UNHEALTHY, reason="x",
        fallback_reason=reason,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("results", "skipped", "reasons"),
    [
        ([ok(KEYWORD, "a"), broke(VECTOR, "embedder")], [], ["embedder"]),
        ([ok(KEYWORD, "a"), broke(VECTOR, "unavailable")], [], ["failed"]),
        ([ok(KEYWORD, "a"), broke(VECTOR, "overloaded")], [], ["failed"]),
        ([ok(KEYWORD, "a"), broke(VECTOR, "timeout")], [], ["timeout"]),
        ([ok(KEYWORD, "a"), broke(VECTOR, "expired")], [], ["timeout"]),
        ([ok(KEYWORD, "a"), lost(VECTOR)], [], ["timeout"]),
        ([ok(KEYWORD, "a"), lost(VECTOR, Loss.LATE)], [], ["timeout"]),
        ([ok(KEYWORD, "a"), lost(VECTOR, Loss.NO_WORKER)], [], ["no_worker"]),
        ([ok(KEYWORD, "a")], [unhealthy()], ["degraded"]),
        ([ok(KEYWORD, "a")], [unhealthy(reason=FallbackReason.NO_WORKER)], ["no_worker"]),
        ([ok(KEYWORD)], [unhealthy()], ["degraded"]),
        ([ok(KEYWORD, "a"), lost(GRAPH)], [unhealthy()], ["degraded", "timeout"]),
    ],
)
def test_marked(results, skipped, reasons):
    fallback = bm25_fallback(results, skipped, ["docs"])
    assert fallback.corpora == ("docs",)
    assert [reason.value for reason in fallback.reasons] == reasons


@pytest.mark.parametrize(
    ("results", "skipped"),
    [
        ([ok(KEYWORD, "a"), ok(VECTOR, "a")], []),
        ([ok(KEYWORD, "a"), ok(VECTOR)], []),
        ([ok(KEYWORD, "a"), ok(GRAPH, "a"), lost(VECTOR)], []),
        ([ok(KEYWORD, "a")], []),
        ([ok(KEYWORD, "a")], [unhealthy(reason=None)]),
        ([ok(KEYWORD, "a"), broke(VECTOR, "bad_request")], []),
        ([ok(KEYWORD, "a"), broke(VECTOR, "unsupported_filter")], []),
        ([ok(KEYWORD, "a"), lost(VECTOR, Loss.WRONG_DIGEST)], []),
        ([ok(KEYWORD, "a"), lost(lane("keyword", name="eu", backend="eu"))], []),
        ([ok(VECTOR, "a"), lost(KEYWORD)], []),
        ([lost(KEYWORD), lost(VECTOR)], []),
    ],
)
def test_not_marked(results, skipped):
    fallback = bm25_fallback(results, skipped, ["docs"])
    assert (fallback.corpora, fallback.reasons) == ((), ())


def test_each_corpus_by_itself_in_the_order_of_selection():
    results = [
        ok(lane("keyword", "legal"), "a"),
        ok(lane("vector", "legal"), "a"),
        ok(lane("keyword", "hr"), "b"),
        ok(lane("keyword", "wiki"), "c"),
        lost(lane("vector", "wiki"), Loss.NO_WORKER),
    ]
    fallback = bm25_fallback(results, [unhealthy(corpus="hr")], ["wiki", "legal", "hr"])
    assert fallback.corpora == ("wiki", "hr")
    assert fallback.reasons == (FallbackReason.DEGRADED, FallbackReason.NO_WORKER)
