"""Every policy under every rule: its reference, one total order, prefixes, and what min-max does at its borders."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanfuse_contracts.fusion import FusionApplied, FusionConfig, FusionPolicy
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.page import page_of
from fanfuse_fuser.domain.policies import MinMax
from fanfuse_fuser.domain.ranked import RankedList
from tests.reference import policies
from tests.unit.fuser.fuser_builders import hits, lane, of_corpora, shared_lane, values_of

MAX = 1.7e308
POLICIES = list(FusionPolicy)


def config(policy, seats=0, *, collapse=False):
    return FusionConfig(policy=policy, reserved_seats=seats, collapse=collapse)


def scored(*pairs, content=None):
    """Hits of (chunk id, score), ranked in this order."""
    return tuple(
        LaneHit(chunk_id=key, rank=rank, score=score, content_hash=content or key)
        for rank, (key, score) in enumerate(pairs, 1)
    )


def values(*scores, weight=1.0):
    return values_of(MinMax(), scored(*((f"c{at}", score) for at, score in enumerate(scores))), weight)


chunk = st.tuples(
    st.sampled_from("abcdefghijklmnopqrst"),
    st.integers(1, 500),
    st.floats(-1e6, 1e6).map(lambda score: round(score, 3)),
    st.sampled_from(("", "h1", "h2", "h3", "h4")),
)
drawn_lanes = st.lists(
    st.tuples(st.sampled_from(("legal", "support", "news")), st.floats(1e-6, 1e6), st.lists(chunk, max_size=20)),
    max_size=9,
)


def as_lists(drawn):
    return [
        RankedList(
            lane("vector", corpus, weight, name=f"l{number}"),
            [LaneHit(chunk_id=c, rank=r, score=s, content_hash=h) for c, r, s, h in found],
        )
        for number, (corpus, weight, found) in enumerate(drawn)
    ]


def as_reference(drawn):
    return [policies.ReferenceLane(corpus, w, [policies.Hit(*one) for one in found]) for corpus, w, found in drawn]


@settings(max_examples=100, deadline=None)
@given(drawn_lanes, st.sampled_from(POLICIES))
def test_every_policy_equals_its_exact_reference(drawn, policy):
    expected = policies.fuse(as_reference(drawn), policy.value)
    found = fuse(as_lists(drawn), config(policy))
    assert [(row.corpus, row.chunk_id, row.score) for row in found] == [row[:3] for row in expected]
    for row, exact in zip(found, expected, strict=True):
        assert tuple(vote.value for vote in row.votes) == exact.values
        assert math.fsum(one.value for one in row.contributions()) == row.score
        assert row.score == pytest.approx(float(exact.exact), rel=1e-14)


@settings(max_examples=100, deadline=None)
@given(drawn_lanes, st.sampled_from(POLICIES), st.integers(0, 5))
def test_copies_and_seats_equal_the_reference(drawn, policy, seats):
    pairs = policies.collapse(policies.fuse(as_reference(drawn), policy.value))
    found = list(fuse(as_lists(drawn), config(policy, seats, collapse=True)))
    copies = {row[:2]: [copy[:2] for copy in same] for row, same in pairs}
    assert [(row.corpus, row.chunk_id) for row in found] == [row[:2] for row in policies.seat(pairs, seats)]
    assert {row[:2]: [copy[:2] for copy in row.copies] for row in found} == copies


def nine_lanes(seed):
    chance = random.Random(seed)
    lists = []
    for number in range(9):
        keys = chance.sample([f"c{at:03}" for at in range(150)], 60)
        scores = sorted((chance.choice((chance.uniform(-1, 9), 3.0)) for _ in keys), reverse=True)
        found = [
            hit.model_copy(update={"content_hash": hit.chunk_id[-2:]})
            for hit in scored(*zip(keys, scores, strict=True))
        ]
        lists.append(
            RankedList(lane("vector", f"k{number // 3}", chance.choice((0.3, 1.0, 1.5)), name=f"l{number}"), found)
        )
    return lists


@pytest.mark.parametrize("policy", POLICIES)
def test_a_thousand_orders_of_arrival_give_one_order(policy):
    """FUS-07: hits in any order; lanes stand in the plan's order, whatever came first."""
    lists, rule, chance = nine_lanes(3), config(policy, 2, collapse=True), random.Random(5)
    expected = list(fuse(lists, rule))
    assert any(row.copies for row in expected)
    for _ in range(1_000):
        shuffled = [RankedList(one.lane, chance.sample(one.hits, len(one.hits))) for one in lists]
        assert [row[:3] for row in fuse(shuffled, rule)] == [row[:3] for row in expected]
    assert list(fuse(shuffled, rule)) == expected


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seats", [0, 1, 3])
def test_smaller_pages_are_prefixes_and_pages_join(policy, seats):
    """FUS-08, FUS-09: seats and copies are settled before a page is cut."""
    fused = fuse(nine_lanes(7), config(policy, seats, collapse=True))
    fifty = page_of(fused, 0, 50, None).hits
    assert [hit.rank for hit in fifty] == list(range(1, 51))
    for top_k in (1, 3, 10, 25):
        assert page_of(fused, 0, top_k, None).hits == fifty[:top_k]
    joined = [hit for offset in range(0, 50, 7) for hit in page_of(fused, offset, 7, None).hits]
    assert tuple(joined[:50]) == fifty


@pytest.mark.parametrize("policy", POLICIES)
def test_a_shared_lane_is_valued_as_one_list(policy):
    """FUS-11: ranks and scores are those of the whole list, votes go to each hit's own corpus."""
    both = RankedList(shared_lane("keyword", "a", "b"), of_corpora(hits("x", "x", "y"), "a", "b", "a"))
    found = fuse([both], config(policy))
    alone = fuse([RankedList(lane("keyword", "a", name="all-keyword"), hits("x", "z", "y"))], config(policy))
    assert [row.score for row in found] == [row.score for row in alone]
    assert [(row.corpus, row.chunk_id) for row in found] == [("a", "x"), ("b", "x"), ("a", "y")]


def test_a_light_lane_stretches_ranks_instead_of_shrinking_votes():
    light = RankedList(lane("vector", weight=0.3), hits("only"))
    heavy = RankedList(
        lane("keyword", weight=1.5), scored(*((f"k{number:03}", 100.0 - number) for number in range(100)))
    )
    place = {
        policy: [row.chunk_id for row in fuse([light, heavy], config(policy))].index("only") for policy in POLICIES
    }
    # Min-max: exactly the score of the heavy lane's 81st hit, and the better rank.
    assert place == {FusionPolicy.RRF: 100, FusionPolicy.RRF_RANK: 4, FusionPolicy.MINMAX: 80}


def test_minmax_brings_scores_to_zero_to_one_and_weighs_them():
    assert values(9.0, 5.0, 3.0, 1.0) == [1.0, 0.625, 0.4375, 0.25]
    assert values(9.0, 5.0, 3.0, 1.0, weight=2.0) == [2.0, 1.25, 0.875, 0.5]


def test_minmax_of_negative_scores():
    assert values(-1.0, -3.0, -4.0, -9.0) == values(9.0, 7.0, 6.0, 1.0) == [1.0, 0.8125, 0.71875, 0.25]
    assert values(1.0, -1.0) == [1.0, 0.5]


def test_minmax_of_a_lone_hit_and_of_equal_scores():
    assert values(-7.0, weight=0.3) == [0.3]
    assert values(2.0, 2.0, weight=2.0) == [1.5, 1.5]
    assert values(*([2.0] * 100)) == [0.505] * 100
    assert values() == []


def test_minmax_of_a_cut_list_knows_only_what_came():
    whole, cut = values(9.0, 5.0, 3.0, 1.0), values(9.0, 5.0)
    assert (whole[:2], cut) == ([1.0, 0.625], [1.0, 0.5])


def test_minmax_rewards_agreement_in_short_lists():
    """The last hit of a short list is a find: what both lanes have is above what one has first."""
    lists = [
        RankedList(lane("vector"), scored(("b", 0.9), ("a", 0.1))),
        RankedList(lane("keyword"), scored(("a", 7.0))),
    ]
    assert [(row.chunk_id, row.score) for row in fuse(lists, config(FusionPolicy.MINMAX))] == [("a", 1.5), ("b", 1.0)]


@pytest.mark.parametrize("scores", [(MAX, 0.0, -MAX), (MAX, -MAX), (5e-324, 0.0), (1.0, 1.0 - 2**-53)])
def test_minmax_at_the_ends_of_the_range_stays_finite(scores):
    found = values(*scores, weight=1e6)
    assert (found[0], found[-1]) == (1e6, 1e6 * (1 / len(scores)))
    assert all(math.isfinite(one) for one in found)
    assert found == sorted(found, reverse=True)


def test_what_a_lane_lacks_gets_nothing_from_it():
    lists = [
        RankedList(lane("vector"), scored(("a", 1.0), ("b", 0.0))),
        RankedList(lane("keyword"), scored(("c", 5.0))),
    ]
    found = fuse(lists, config(FusionPolicy.MINMAX))
    assert [(row.chunk_id, row.score, len(row.votes)) for row in found] == [("a", 1.0, 1), ("c", 1.0, 1), ("b", 0.5, 1)]


def test_an_answer_tells_its_policy():
    assert FusionApplied.of(FusionConfig()).model_dump() == {
        "policy": FusionPolicy.MINMAX,
        "k": None,
        "reserved_seats": 1,
        "collapse": True,
    }
    assert FusionApplied.of(config(FusionPolicy.RRF)).k == 60
