"""Reserved seats: what every lane's first hits are promised, and what that may cost the others."""

import pytest

from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_fuser.domain.fusion import DEFAULT, fuse
from fanfuse_fuser.domain.page import page_of
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_fuser.domain.seats import MAX_LIFTED, SEAT_WINDOW
from tests.unit.fuser.fuser_builders import hits, lane

HEAVY = RankedList(lane("keyword", weight=1.5), hits(*(f"k{number:03}" for number in range(300))))


def light(number, count=3, weight=0.3):
    return RankedList(
        lane("vector", weight=weight, name=f"light{number}"), hits(*(f"l{number}-{at}" for at in range(count)))
    )


def rule(seats, policy=FusionPolicy.RRF):
    return FusionConfig(policy=policy, reserved_seats=seats)


def ids(fused, count=SEAT_WINDOW):
    return [row.chunk_id for row in fused[:count]]


def test_seed_trap_a_lone_first_of_the_light_lane_is_behind_244_others():
    """1.5 / (60 + 245) is above 0.3 / 61 by the rounding of 0.3 alone: 245 in doubles."""
    fused = fuse([light(0, 1), HEAVY], rule(0))
    assert [row.chunk_id for row in fused].index("l0-0") == 245
    assert sum(row.score > fused[245].score + 1e-17 for row in fused) == 244


@pytest.mark.parametrize("policy", list(FusionPolicy))
def test_a_seat_keeps_it_in_the_first_ten(policy):
    fused = fuse([light(0, 1), HEAVY], rule(1, policy))
    assert "l0-0" in ids(fused)
    assert len(fused) == 301
    assert len({row.chunk_id for row in fused}) == 301


def test_the_default_keeps_the_first_hit_of_every_lane_in_the_first_ten():
    lists = [HEAVY, *(light(number, weight=0.001) for number in range(4))]
    fused = fuse(lists, DEFAULT)
    assert {one.hits[0].chunk_id for one in lists} <= set(ids(fused))


def test_a_lifted_hit_takes_the_last_place_and_says_whose_seat_it_has():
    plain, fused = fuse([light(0), HEAVY], rule(0)), fuse([light(0), HEAVY], rule(1))
    assert ids(fused) == [*ids(plain, 9), "l0-0"]
    assert [row.chunk_id for row in fused[10:20]] == [row.chunk_id for row in plain[9:19]]
    page = page_of(fused, 0, 20, None).hits
    assert [(hit.chunk_id, hit.reserved_by) for hit in page if hit.reserved_by] == [("l0-0", "light0")]
    assert page[9].score < page[10].score, "its score is its own"


def test_nothing_moves_where_the_seats_are_in_the_window_anyway():
    strong = [light(0, weight=1.5), HEAVY]
    assert list(fuse(strong, rule(1))) == list(fuse(strong, rule(0)))


def test_half_of_the_window_at_most_is_lifted_first_ranks_first():
    lists = [HEAVY, *(light(number, weight=0.3 + number / 1_000) for number in range(8))]
    fused = fuse(lists, rule(2))
    assert ids(fused, 5) == ["k000", "k001", "k002", "k003", "k004"]
    assert ids(fused)[5:] == ["l7-0", "l6-0", "l5-0", "l4-0", "l3-0"]
    assert sum(row.reserved_by is not None for row in fused) == MAX_LIFTED


def test_seats_in_use_are_never_taken_from():
    equal = [RankedList(lane("vector", name=f"e{at}", weight=1.0), hits(f"e{at:02}")) for at in range(10)]
    fused = fuse([*equal, light(0)], rule(1))
    assert ids(fused) == [f"e{at:02}" for at in range(10)]
    assert not any(row.reserved_by for row in fused)


def test_a_list_shorter_than_the_window_is_left_alone():
    assert ids(fuse([light(0), light(1, weight=1.5)], rule(3))) == ["l1-0", "l1-1", "l1-2", "l0-0", "l0-1", "l0-2"]
