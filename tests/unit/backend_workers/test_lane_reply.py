"""Replies: outcome, digest of what was applied, size (NAT-05)."""

import pytest

from fanfuse_backend_workers.domain.replies import (
    MAX_MESSAGE_CHARS,
    Searched,
    address_of,
    answered,
    failed,
    fit,
    signed,
)
from fanfuse_backend_workers.domain.requests import build_request, check_shared, common_card
from fanfuse_backend_workers.domain.salvage import salvage
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchError
from fanfuse_contracts import limits
from fanfuse_contracts.corpus import ALL_CORPORA, CorpusCard, EmbedderSpec
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
    return answered(COMMAND, [searched(COMMAND, "docs", EngineResult(hits, cut, dropped=2))])


def searched(command: RetrieveCommand, corpus: str, result: EngineResult, generation: str = "g1") -> Searched:
    return Searched(build_request(command, corpus, None, 1.0), result, generation)


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
    assert fit(reply, size) == (reply, reply.to_json())
    for limit in range(len(reply_of().to_json()) + 60, size):
        smaller, body = fit(reply, limit)
        assert body == smaller.to_json()
        if smaller.outcome is LaneOutcome.CUT:
            assert len(smaller.to_json()) <= limit
            assert smaller.hits == reply.hits[: len(smaller.hits)] != ()
        else:
            assert smaller.failure is not None
            assert smaller.failure.kind is FailureKind.TOO_LARGE
    assert len(fit(reply, size - 1).reply.hits) == 2


@pytest.mark.parametrize("text", ["a", "é", "標", "😀", "\x01", '"'])
@pytest.mark.parametrize("count", [0, 1, 40, 400])
def test_no_reply_is_larger_than_the_limit_whatever_its_characters(text: str, count: int) -> None:
    wide = COMMAND.model_copy(update={"window": 500})
    hits = tuple(EngineHit(f"{i}{text * 100}", 0.1 + i, text * 100, text * 100) for i in range(count))
    reply = answered(wide, [searched(wide, "docs", EngineResult(hits))])
    for limit in (20_000, limits.MAX_LANE_REPLY_BYTES):
        fitted, body = fit(reply, limit)
        assert body == fitted.to_json()
        assert len(body) <= limit
        assert (fitted is reply) == (len(reply.to_json()) <= limit)


SHARED = COMMAND.model_copy(
    update={"corpus": ALL_CORPORA, "corpora": ("docs", "wiki"), "kind": Kind.VECTOR, "lane": "all-vector"}
)


NOTHING = EngineResult(())


def shared_reply(*, wiki: EngineResult, docs: EngineResult = NOTHING, generation: str = "g2") -> LaneReply:
    return answered(SHARED, [searched(SHARED, "docs", docs), searched(SHARED, "wiki", wiki, generation)])


def test_a_shared_search_attests_every_corpus_and_each_hit_names_its_own() -> None:
    """FUS-11: equal chunk ids of two corpora stay two hits."""
    found = EngineResult((EngineHit("a", 0.5, "h"), EngineHit("b", 0.9, "h")), dropped=1)
    reply = shared_reply(docs=found, wiki=EngineResult((EngineHit("a", 0.7, "h"), EngineHit("", 1.0, "h"))))
    assert (reply.corpus, reply.outcome) == (ALL_CORPORA, LaneOutcome.ANSWERED)
    assert [(hit.corpus, hit.chunk_id, hit.rank) for hit in reply.hits] == [
        ("docs", "b", 1), ("wiki", "a", 2), ("docs", "a", 3),
    ]  # fmt: skip
    assert reply.filter_digest == digest("acme", "docs,wiki", CONDITION)
    assert reply.dropped_hits == 2


def test_a_shared_search_is_cut_where_one_of_its_lists_is() -> None:
    assert shared_reply(wiki=NOTHING).outcome is LaneOutcome.EMPTY
    assert shared_reply(wiki=EngineResult((), cut="timeout")).outcome is LaneOutcome.CUT


def test_the_generation_of_a_shared_search_changes_with_each_of_its_indexes() -> None:
    first, second = (shared_reply(wiki=NOTHING, generation=name).generation for name in ("g2", "g3"))
    assert first is not None
    assert len(first) == 16
    assert first == shared_reply(wiki=NOTHING).generation != second


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"corpora": ()}, FailureKind.BAD_REQUEST),
        ({"corpus": "docs"}, FailureKind.BAD_REQUEST),
        ({"corpora": ("wiki", "docs")}, FailureKind.BAD_REQUEST),
        ({"corpora": ("docs", "docs")}, FailureKind.BAD_REQUEST),
        ({"kind": Kind.KEYWORD}, FailureKind.CONFIG),
        ({"kind": Kind.GRAPH}, FailureKind.CONFIG),
    ],
)
def test_a_shared_search_that_cannot_be_merged_is_refused(changes: dict[str, object], kind: FailureKind) -> None:
    check_shared(SHARED)
    check_shared(COMMAND)
    with pytest.raises(SearchError) as refused:
        check_shared(SHARED.model_copy(update=changes))
    assert refused.value.kind is kind


def test_corpora_of_different_embedders_are_never_merged() -> None:
    tiny, huge = (EmbedderSpec(model=name, dimensions=3) for name in ("tiny", "huge"))
    docs, wiki, hr = (
        CorpusCard(tenant="acme", corpus=name, embedder=spec)
        for name, spec in (("docs", tiny), ("wiki", tiny), ("hr", huge))
    )
    assert common_card([docs, wiki]) is docs
    with pytest.raises(SearchError, match="'docs' and 'hr'"):
        common_card([docs, wiki, hr])


def test_the_corpora_of_hits_count_towards_the_size_of_a_reply() -> None:
    names = tuple(f"{number}{'c' * 60}" for number in range(8))
    wide = SHARED.model_copy(update={"corpora": names, "window": 500})
    hits = EngineResult(tuple(EngineHit(f"{i}", 0.1, "") for i in range(60)))
    reply = answered(wide, [searched(wide, name, hits) for name in names])
    size = len(reply.to_json())
    assert fit(reply, size) == (reply, reply.to_json())
    smaller, body = fit(reply, size - 1)
    assert len(body) < size
    assert smaller.hits == reply.hits[: len(smaller.hits)] != reply.hits


def test_the_lane_of_a_bad_payload_is_found_where_it_is_named() -> None:
    named = b'{"query_id":"q1","lane":"l","backend":"main","attempt":2,"window":"many"}'
    address = salvage(named, Kind.GRAPH, "acme", "docs")
    assert address == ("acme", "q1", "l", "docs", Kind.GRAPH, "main", 2)
    for payload in (b"", b"\xff", b"[]", b"{}", b'{"query_id":"a.b","lane":"l","backend":"m"}'):
        assert salvage(payload, Kind.GRAPH, "acme", "docs") is None
