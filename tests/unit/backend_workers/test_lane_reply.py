"""Replies: outcome, digest of what was applied, size (NAT-05)."""

import pytest

from fanfuse_backend_workers.domain.replies import MAX_MESSAGE_CHARS, address_of, answered, failed, fit, signed
from fanfuse_backend_workers.domain.requests import build_request
from fanfuse_backend_workers.domain.salvage import salvage
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchError
from fanfuse_contracts import limits
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.filters import Leaf, Op, digest
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import LaneReply

CONDITION = Leaf(field="lang", op=Op.EQ, value="en")
COMMAND = RetrieveCommand(
    tenant="acme", query_id="q1", lane="docs-keyword", corpus="docs", kind=Kind.KEYWORD, backend="main", text="hello",
    window=3, filter=CONDITION, filter_digest="claimed", submitted_ns=5, budget_ms=2_000,
)  # fmt: skip


def reply_of(*chunk_ids: str, cut: str | None = None, title: str = "") -> LaneReply:
    hits = tuple(EngineHit(chunk_id, 1.0, "h", title) for chunk_id in chunk_ids)
    return answered(COMMAND, build_request(COMMAND, None, 1.0), EngineResult(hits, cut, dropped=2), "g1")


def test_the_digest_is_of_what_was_applied() -> None:
    reply = reply_of("a")
    assert reply.filter_digest == digest("acme", "docs", CONDITION) != COMMAND.filter_digest
    assert (reply.generation, reply.dropped_hits) == ("g1", 2)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (reply_of("a"), LaneOutcome.ANSWERED),
        (reply_of(), LaneOutcome.EMPTY),
        (reply_of("a", cut="fan-out"), LaneOutcome.CUT),
        (reply_of(cut="timeout"), LaneOutcome.CUT),
        (failed(address_of(COMMAND), SearchError(FailureKind.TIMEOUT, "late")), LaneOutcome.FAILED),
    ],
)
def test_outcomes(reply: LaneReply, outcome: LaneOutcome) -> None:
    assert reply.outcome is outcome


def test_the_window_bounds_the_hits_without_calling_them_cut() -> None:
    reply = reply_of("a", "b", "c", "d")
    assert [hit.chunk_id for hit in reply.hits] == ["a", "b", "c"]
    assert reply.outcome is LaneOutcome.ANSWERED


def test_a_failure_has_no_digest_and_a_short_message() -> None:
    reply = failed(address_of(COMMAND), SearchError(FailureKind.UNAVAILABLE, "x" * 9_999))
    assert reply.filter_digest is None
    assert reply.failure is not None
    assert len(reply.failure.message) == MAX_MESSAGE_CHARS


def test_a_reply_that_fits_is_untouched_and_a_larger_one_loses_its_worst_hits() -> None:
    reply = signed(reply_of("a", "b", "c", title="標題"), "worker-1", 1.5)
    size = len(reply.to_json())
    assert fit(reply, size) is reply
    for limit in range(len(reply_of().to_json()) + 60, size):
        smaller = fit(reply, limit)
        if smaller.outcome is LaneOutcome.CUT:
            assert len(smaller.to_json()) <= limit
            assert smaller.hits == reply.hits[: len(smaller.hits)] != ()
        else:
            assert smaller.failure is not None
            assert smaller.failure.kind is FailureKind.TOO_LARGE
    assert len(fit(reply, size - 1).hits) == 2


@pytest.mark.parametrize("text", ["a", "é", "標", "😀", "\x01", '"'])
@pytest.mark.parametrize("count", [0, 1, 40, 400])
def test_no_reply_is_larger_than_the_limit_whatever_its_characters(text: str, count: int) -> None:
    wide = COMMAND.model_copy(update={"window": 500})
    hits = tuple(EngineHit(f"{i}{text * 100}", 0.1 + i, text * 100, text * 100) for i in range(count))
    reply = answered(wide, build_request(wide, None, 1.0), EngineResult(hits), "g1")
    for limit in (20_000, limits.MAX_LANE_REPLY_BYTES):
        fitted = fit(reply, limit)
        assert len(fitted.to_json()) <= limit
        assert (fitted is reply) == (len(reply.to_json()) <= limit)


def test_the_lane_of_a_bad_payload_is_found_where_it_is_named() -> None:
    named = b'{"query_id":"q1","lane":"l","backend":"main","attempt":2,"window":"many"}'
    address = salvage(named, Kind.GRAPH, "acme", "docs")
    assert address == ("acme", "q1", "l", "docs", Kind.GRAPH, "main", 2)
    for payload in (b"", b"\xff", b"[]", b"{}", b'{"query_id":"a.b","lane":"l","backend":"m"}'):
        assert salvage(payload, Kind.GRAPH, "acme", "docs") is None
