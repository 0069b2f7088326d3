"""The comparison of fusion policies: what an exclusive first hit is, intervals, and that nine lanes are timed."""

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.ranked import RankedList


@pytest.fixture(scope="module")
def bench(bench_module: Callable[[str], ModuleType]):
    parts = [bench_module(name) for name in ("fusion_questions", "fusion", "fusion_report")]
    return SimpleNamespace(**{name: value for part in parts for name, value in vars(part).items()})


def ranked(kind, *chunk_ids, weight=1.0):
    lane = Lane(
        name=kind.value, corpus="c", kind=kind, backend="main", pool="main", weight=weight, window=100, filter_digest=""
    )
    found = [LaneHit(chunk_id=one, rank=at, score=-float(at), content_hash=one) for at, one in enumerate(chunk_ids, 1)]
    return RankedList(lane, tuple(found))


LISTS = (ranked(Kind.VECTOR, "v", weight=0.3), ranked(Kind.KEYWORD, *(f"k{at:02}" for at in range(30)), weight=1.5))
AGREED = (ranked(Kind.VECTOR, "a", "b"), ranked(Kind.KEYWORD, "b", "a"))


@pytest.fixture(scope="module")
def questions(bench):
    """One with two exclusive first hits, one with none."""
    return bench.Question(Shape.MIXED, LISTS, {"v": 1}), bench.Question(Shape.MIXED, AGREED, {"a": 1})


def test_a_first_hit_is_exclusive_if_no_other_lane_has_it_in_its_first_ten(bench, questions):
    assert bench.fate_of_firsts(questions, [["k00"], ["a"]]) == bench.Fate(exclusive=2, kept=1)
    alone = bench.Question(Shape.MIXED, LISTS[:1], {})
    assert bench.fate_of_firsts([alone], [["v"]]) == bench.Fate(0, 0)


def test_a_set_is_measured_under_every_variant_and_told(bench, questions):
    figures = bench.measure(bench.QuestionSet("two", questions, merged=([("v", 1.0)], [("x", 1.0)])))
    assert figures.singles == {"keyword": pytest.approx(0.3155, abs=1e-4), "vector": 1.0, "one merged index": 0.5}
    fates = {row.variant.name: (row.fate.exclusive, row.fate.kept) for row in figures.rows}
    assert (fates["rrf, k 60, 0"], fates["rrf, k 60, 1"]) == ((2, 1), (2, 2))
    for part in (bench.quality_table, bench.difference_table, bench.merged_table, bench.fate_table):
        assert "| minmax, 1 |" in part([figures])


def test_intervals_are_paired_and_seeded(bench):
    first, other = np.linspace(0, 1, 200), np.linspace(0, 1, 200) + 0.1
    assert bench.interval(first, other) == pytest.approx((0.1, 0.1, 0.1))
    noisy = other + np.where(np.arange(200) % 2, 0.3, -0.3)
    mean, low, high = bench.interval(first, noisy)
    assert low < mean < high
    assert bench.interval(first, noisy) == (mean, low, high)


def test_the_first_variant_is_plain_and_the_default_is_among_them(bench):
    configs = [one.config for one in bench.variants()]
    assert (configs[0].policy.value, configs[0].k, configs[0].reserved_seats) == ("rrf", 60, 0)
    assert FusionConfig() in configs


def test_a_fusion_is_timed(bench):
    assert bench.cpu_us(FusionConfig(), rounds=3) > 0
