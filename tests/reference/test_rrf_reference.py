"""The reference itself, checked by hand-worked cases."""

from fractions import Fraction

from tests.reference import rrf


def test_worked_example():
    lanes = [
        rrf.ReferenceLane("docs", 1.5, [("x", 1), ("a", 2)]),
        rrf.ReferenceLane("docs", 1.0, [("a", 1)]),
        rrf.ReferenceLane("docs", 0.8, [("a", 1)]),
    ]
    rows = rrf.fuse(lanes)
    assert [row.chunk_id for row in rows] == ["a", "x"]
    assert rows[0].exact == Fraction(3, 2) / 62 + Fraction(1, 61) + Fraction(0.8) / 61
    assert f"{rows[0].score:.6f}" == "0.053702"


def test_a_lane_votes_once_at_its_best_rank():
    rows = rrf.fuse([rrf.ReferenceLane("docs", 1.0, [("a", 3), ("a", 2)])])
    assert rows == [rrf.ReferenceRow("docs", "a", 1 / 62, (1 / 62,), Fraction(1, 62))]


def test_corpora_are_never_summed():
    lanes = [rrf.ReferenceLane("a", 1.0, [("x", 1)]), rrf.ReferenceLane("b", 1.0, [("x", 1)])]
    assert [(row.corpus, row.score) for row in rrf.fuse(lanes)] == [("a", 1 / 61), ("b", 1 / 61)]
