"""The references themselves, checked by hand-worked cases, and against the older one of reciprocal ranks."""

from fractions import Fraction

import pytest

from tests.reference import policies, rrf
from tests.reference.policies import Hit, ReferenceLane


def lane(weight, *scores, corpus="docs"):
    hits = [Hit(chunk_id, rank, score) for rank, (chunk_id, score) in enumerate(scores, 1)]
    return ReferenceLane(corpus, weight, hits)


HEAVY = lane(1.5, ("a", 9.0), ("b", 5.0), ("c", 1.0))
LIGHT = lane(0.5, ("c", -1.0), ("d", -3.0))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("rrf", {"a": Fraction(3, 2) / 61, "c": Fraction(3, 2) / 63 + Fraction(1, 2) / 61}),
        ("rrf_rank", {"a": 1 / (60 + Fraction(2, 3)), "c": Fraction(1, 62) + Fraction(1, 62)}),
        ("minmax", {"a": Fraction(3, 2), "b": Fraction(1), "c": Fraction(1), "d": Fraction(1, 4)}),
    ],
)
def test_worked_examples(policy, expected):
    found = {row.chunk_id: row.exact for row in policies.fuse([HEAVY, LIGHT], policy)}
    assert found.keys() == {"a", "b", "c", "d"}
    assert {key: found[key] for key in expected} == expected


def test_lone_and_equal_scores_of_minmax():
    lone, equal = (
        policies.fuse([lane(1.5, ("a", -7.0))], "minmax"),
        policies.fuse([lane(1.0, ("b", 2.0), ("c", 2.0))], "minmax"),
    )
    assert [row.exact for row in (*lone, *equal)] == [Fraction(3, 2), Fraction(3, 4), Fraction(3, 4)]


def test_the_two_references_of_reciprocal_ranks_agree():
    lanes = [HEAVY, LIGHT, lane(0.8, ("d", 1.0), corpus="more")]
    older = rrf.fuse([rrf.ReferenceLane(one.corpus, one.weight, [hit[:2] for hit in one.hits]) for one in lanes])
    assert [tuple(row) for row in older] == [tuple(row[:5]) for row in policies.fuse(lanes, "rrf")]


def test_collapse_and_seats_by_hand():
    ten = lane(1.0, *((f"r{number:02}", 20.0 - number) for number in range(12)))
    other = ReferenceLane("more", 0.01, [Hit("x", 1, 1.0, "h"), Hit("y", 2, 0.5, "g")])
    twin = ReferenceLane("docs", 0.005, [Hit("t", 1, 1.0, "h")])
    rows = policies.collapse(policies.fuse([ten, other, twin], "rrf"))
    assert [(row.chunk_id, [copy.chunk_id for copy in copies]) for row, copies in rows[-2:]] == [
        ("x", ["t"]),
        ("y", []),
    ]
    assert [row.chunk_id for row in policies.seat(rows, 1)][8:] == ["r08", "x", "r09", "r10", "r11", "y"]
