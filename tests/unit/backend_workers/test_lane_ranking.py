"""FUS-01, FUS-02, FUS-07 at the worker: one rank per chunk, a total order, nothing without an id or a finite score."""

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_backend_workers.domain.ranking import MAX_CHUNK_ID_CHARS, rank, rank_shared
from fanfuse_backend_workers.ports import EngineHit
from fanfuse_contracts import limits
from fanfuse_contracts.retrieval import LaneHit


def hit(chunk_id: str, score: float, title: str = "") -> EngineHit:
    return EngineHit(chunk_id, score, "hash", title)


def test_a_repeated_chunk_has_its_best_rank_only() -> None:
    ranked = rank([hit("b", 4.0), hit("a", 3.0), hit("a", 2.0), hit("a", 1.0), hit("c", 0.5)], 10)
    assert [(h.chunk_id, h.rank, h.score) for h in ranked.hits] == [("b", 1, 4.0), ("a", 2, 3.0), ("c", 3, 0.5)]
    assert ranked.dropped == 0


def test_ties_are_ordered_by_chunk_id_whatever_the_engine_says() -> None:
    tied = [hit("c", 1.0), hit("a", 1.0), hit("b", 1.0), hit("top", 2.0), hit("z", 0.0), hit("y", -0.0)]
    orders = {tuple(h.chunk_id for h in rank(order, 10).hits) for order in itertools.permutations(tied)}
    assert orders == {("top", "a", "b", "c", "y", "z")}


def test_hits_without_id_or_finite_score_are_counted_and_never_merged() -> None:
    found = [hit("", 5.0), hit("", 4.0), hit("0", 1.0), hit("n", math.nan), hit("i", math.inf), hit("m", -math.inf)]
    found.append(hit("x" * (MAX_CHUNK_ID_CHARS + 1), 3.0))
    ranked = rank(found, 10)
    assert [h.chunk_id for h in ranked.hits] == ["0"]
    assert ranked.dropped == 6


@pytest.mark.parametrize("bad", [EngineHit("b", 2.0, "\ud800"), EngineHit("b", 2.0, "hash", "half \udc00 a pair")])
def test_half_of_a_surrogate_pair_costs_its_hit_and_not_the_lane(bad: EngineHit) -> None:
    """No JSON can carry it; what stands beside it is fused, whatever script it is in."""
    ranked = rank([bad, hit("ü", 1.0, "日本語")], 10)
    assert ([h.chunk_id for h in ranked.hits], ranked.dropped) == (["ü"], 1)
    assert rank_shared({"docs": [bad], "hr": [hit("a", 1.0)]}, 10).dropped == 1


@pytest.mark.parametrize("other", [None, 7, b"hash"])
def test_a_field_of_another_type_costs_its_hit_and_not_the_lane(other: Any) -> None:
    """What somebody else wrote into an index that is only wired."""
    found = [
        EngineHit("a", 3.0, other),
        EngineHit("b", 2.0, "hash", other),
        EngineHit(other, 1.0, "hash"),
        hit("c", 0.5),
    ]
    ranked = rank(found, 10)
    assert ([h.chunk_id for h in ranked.hits], ranked.dropped) == (["c"], 3)
    assert LaneHit.model_validate_json(ranked.hits[0].to_json()) == ranked.hits[0]


def test_a_long_title_is_shortened() -> None:
    assert len(rank([hit("a", 1.0, "x" * 999)], 10).hits[0].title) == limits.MAX_TITLE_CHARS


@given(
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from([0.0, -0.0, 1.0, 2.5, math.nan]))),
    st.integers(1, 8),
)
def test_a_smaller_window_is_a_prefix(rows: list[tuple[str, float]], window: int) -> None:
    hits = [hit(chunk_id, score) for chunk_id, score in rows]
    whole = rank(hits, 100).hits
    assert rank(hits, window).hits == whole[:window]
    assert [h.rank for h in whole] == list(range(1, len(whole) + 1))
    assert len({h.chunk_id for h in whole}) == len(whole)


Rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([-1.0, 0.0, 0.25, 0.5, math.nan]), st.just("")))


@given(st.dictionaries(st.sampled_from(["docs", "hr", "wiki"]), Rows), st.integers(1, 6))
def test_a_shared_list_is_the_merge_of_the_separate_ones(found: dict[str, list[tuple[str, float, str]]], window: int):
    """By score, ties by corpus and chunk id; a chunk's identity is its corpus and id (FUS-11)."""
    by_corpus = {corpus: [hit(*row) for row in rows] for corpus, rows in found.items()}
    shared = rank_shared(by_corpus, window)
    apart = [(corpus, one) for corpus, hits in by_corpus.items() for one in rank(hits, 100).hits]
    best = sorted(apart, key=lambda pair: (-pair[1].score, pair[0], pair[1].chunk_id))[:window]
    assert [(h.corpus, h.chunk_id, h.score) for h in shared.hits] == [(c, h.chunk_id, h.score) for c, h in best]
    assert [h.rank for h in shared.hits] == list(range(1, len(shared.hits) + 1))
    assert shared.dropped == sum(rank(hits, 100).dropped for hits in by_corpus.values())
