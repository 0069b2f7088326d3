"""Reciprocal ranks: goldens, the total order, and equality with the exact-fraction reference."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_fuser.domain import fusion
from fanfuse_fuser.domain.policies import Rrf, RrfRank
from fanfuse_fuser.domain.ranked import RankedList
from tests.reference import rrf
from tests.unit.fuser.fuser_builders import hits, lane, reply, values_of

KINDS = ("vector", "keyword", "graph")
RRF = FusionConfig(policy=FusionPolicy.RRF, reserved_seats=0, collapse=False)


def fuse(lists):
    return fusion.fuse(lists, RRF)


def table(fused):
    return [(row.corpus, row.chunk_id, round(row.score, 6)) for row in fused]


def test_seed_design_golden():
    lists = [
        RankedList(lane("vector", weight=1.5), hits("other", "x")),
        RankedList(lane("keyword", weight=1.0), hits("x")),
        RankedList(lane("graph", weight=0.8), hits("x")),
    ]
    best = fuse(lists)[0]
    assert f"{best.score:.6f}" == "0.053702"
    assert [(one.kind.value, one.rank, one.weight) for one in best.contributions()] == [
        ("vector", 2, 1.5),
        ("keyword", 1, 1.0),
        ("graph", 1, 0.8),
    ]
    assert math.fsum(one.value for one in best.contributions()) == best.score


def test_a_lane_votes_once_per_chunk_at_its_best_rank():
    """FUS-01: repeated ids of one lane are not added up."""
    lists = [RankedList(lane("vector"), hits("B", "A", "A", "A")), RankedList(lane("keyword"), hits("B"))]
    fused = fuse(lists)
    assert table(fused) == [("docs", "B", 0.032787), ("docs", "A", 0.016129)]
    assert [len(row.votes) for row in fused] == [2, 1]


def test_one_chunk_under_three_engines_is_one_row():
    """FUS-02: agreement is rewarded by chunk id; "0" is an id like any other, and ids that look like numbers tie."""
    lists = [RankedList(lane(kind), hits("42", "0" if kind == "graph" else "7")) for kind in KINDS]
    fused = fuse(lists)
    assert table(fused)[0] == ("docs", "42", 0.04918)
    assert table(fused)[1:] == [("docs", "7", 0.032258), ("docs", "0", 0.016129)]


@pytest.mark.parametrize("bad", [{}, {"chunk_id": ""}, {"chunk_id": None}, {"chunk_id": 42}])
def test_a_hit_without_a_chunk_id_never_becomes_a_reply(bad):
    """FUS-02: such hits are refused at the border (the join counts the reply), never merged together."""
    body = reply(lane("vector"), hits("a")).model_dump(mode="json")
    body["hits"][0].pop("chunk_id")
    body["hits"][0] |= bad
    with pytest.raises(ValidationError, match="chunk_id"):
        LaneReply.model_validate(body)


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, -math.inf, -0.0, 0.0])
def test_a_weight_that_cannot_rank_is_refused_by_name(weight):
    """FUS-05: no such lane can stand in a plan."""
    with pytest.raises(ValidationError, match="weight"):
        Lane.model_validate(lane("vector").model_dump() | {"weight": weight})


@pytest.mark.parametrize("policy", [Rrf, RrfRank])
@pytest.mark.parametrize("k", [0, -1, -61, "60", 1.5, math.nan, True, None])
def test_k_is_an_integer_above_zero(policy, k):
    """FUS-06."""
    with pytest.raises(ValueError, match="k is"):
        policy(k)


@pytest.mark.parametrize("k", [0, -1, -61, 1, 2, 8, 1_001, "60", 60.0, 1.5, math.nan, True, None])
def test_a_k_of_zero_or_tiny_is_refused_by_the_configuration(k):
    """FUS-06: with the path of the key."""
    with pytest.raises(ValidationError, match=r"retrieval\.fusion\.k"):
        FanfuseConfig.model_validate({"retrieval": {"fusion": {"policy": "rrf", "k": k}}})


@pytest.mark.parametrize("k", [9, 60, 1_000])
def test_the_smallest_and_the_largest_k(k):
    """FUS-06: at the smallest, what two lanes have in their top ten is above what only one has first."""
    config = FanfuseConfig.model_validate({"retrieval": {"fusion": {"policy": "rrf", "k": k, "reserved_seats": 0}}})
    both = [f"b{number}" for number in range(8)]
    lists = [RankedList(lane(kind), hits(kind, *both, "Z")) for kind in ("vector", "keyword")]
    order = [row.chunk_id for row in fusion.fuse(lists, config.retrieval.fusion)]
    assert order == [*both, "Z", "vector", "keyword"]


def test_one_less_than_the_smallest_k_breaks_that():
    assert values_of(Rrf(8), hits("x", start=10)) == [1 / 18]
    assert values_of(Rrf(8), hits("x"))[0] == 2 / 18, "a tie with what one lane has first"


def test_k_under_a_policy_without_it_is_refused():
    """FUS-06: no key without an effect; the default may stand there, so that a printed configuration can be read."""
    with pytest.raises(ValidationError, match="k has no effect under policy minmax"):
        FanfuseConfig.model_validate({"retrieval": {"fusion": {"k": 20}}})
    printed = FanfuseConfig().model_dump()["retrieval"]["fusion"]
    assert FusionConfig.model_validate(printed) == FusionConfig()


def test_what_two_lanes_agree_on_beats_the_top_of_one():
    """FUS-06: k = 60."""
    lists = [
        RankedList(lane("vector"), hits("A", "b", "c", "Z")),
        RankedList(lane("keyword"), hits("D", "e", "f", "Z")),
    ]
    assert table(fuse(lists))[:3] == [("docs", "Z", 0.03125), ("docs", "A", 0.016393), ("docs", "D", 0.016393)]


def test_total_order_of_ties():
    """FUS-07: score, best rank, lane order of the plan, chunk id."""
    lists = [
        RankedList(lane("vector"), hits("x", "y", "c", "b")),
        RankedList(lane("keyword"), hits("p", "q", "b", "c")),
    ]
    assert [row.chunk_id for row in fuse(lists)] == ["c", "b", "x", "p", "y", "q"]
    same_rank = [RankedList(lane("vector"), [*hits("z"), *hits("a")])]
    assert [row.chunk_id for row in fuse(same_rank)] == ["a", "z"]


def test_equal_ids_of_two_corpora_stay_apart():
    """FUS-11: the identity is (tenant, corpus, chunk)."""
    lists = [RankedList(lane(kind, corpus), hits("doc-1#0")) for corpus in ("legal", "support") for kind in KINDS]
    assert table(fuse(lists)) == [("legal", "doc-1#0", 0.04918), ("support", "doc-1#0", 0.04918)]


def test_the_order_of_hits_inside_a_lane_does_not_matter():
    found = list(hits(*(f"c{number}" for number in range(50))))
    expected = list(fuse([RankedList(lane("vector"), found)]))
    random.Random(7).shuffle(found)
    assert list(fuse([RankedList(lane("vector"), found)])) == expected


def test_nothing_in_nothing_out():
    assert list(fuse([])) == []
    assert list(fuse([RankedList(lane("vector"), ())])) == []


weights = st.floats(min_value=1e-6, max_value=1e6, allow_nan=False)
ranked = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 500)), max_size=12)
lane_lists = st.lists(st.tuples(st.sampled_from(("legal", "support")), weights, ranked), max_size=9)


def as_lists(drawn):
    lists = []
    for number, (corpus, weight, pairs) in enumerate(drawn):
        made = [hits(chunk_id, start=rank)[0] for chunk_id, rank in pairs]
        lists.append(RankedList(lane("vector", corpus, weight, name=f"l{number}"), made))
    return lists


@settings(max_examples=400, deadline=None)
@given(lane_lists)
def test_equal_to_the_exact_fraction_reference(drawn):
    expected = rrf.fuse([rrf.ReferenceLane(*one) for one in drawn])
    fused = fuse(as_lists(drawn))
    got = [(row.corpus, row.chunk_id, row.score, tuple(vote.value for vote in row.votes)) for row in fused]
    assert got == [(row.corpus, row.chunk_id, row.score, row.values) for row in expected]
    for row, exact in zip(fused, expected, strict=True):
        assert math.fsum(one.value for one in row.contributions()) == row.score
        assert row.score == pytest.approx(float(exact.exact), rel=1e-14)


def test_long_lists_equal_the_reference():
    """Nine lanes of 100 hits over 300 chunks, 20 times, with the shapes' weights."""
    chance = random.Random(11)
    for _ in range(20):
        drawn = []
        for number in range(9):
            chunk_ids = chance.sample([f"c{n}" for n in range(300)], 100)
            pairs = [(chunk_id, rank) for rank, chunk_id in enumerate(chunk_ids, 1)]
            drawn.append((f"corpus{number // 3}", chance.choice((0.3, 0.5, 0.8, 1.0, 1.2, 1.5, 1.8)), pairs))
        expected = rrf.fuse([rrf.ReferenceLane(*one) for one in drawn])
        fused = fuse(as_lists(drawn))
        assert [(row.corpus, row.chunk_id, row.score) for row in fused] == [row[:3] for row in expected]
