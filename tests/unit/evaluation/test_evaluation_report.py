"""Means, paired intervals and both forms of the report."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from fanfuse_contracts.enums import Kind, Status
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_evaluation.bootstrap import interval, resampled_means
from fanfuse_evaluation.figures import figures_of
from fanfuse_evaluation.page import html
from fanfuse_evaluation.report import markdown
from fanfuse_evaluation.summary import best_lane, summarise
from tests.unit.evaluation.records import asked, lane

POLICIES = [FusionConfig(policy=FusionPolicy.MINMAX, reserved_seats=0)]


def records():
    """Two collections: the second has no vector lane and one answer that lost a lane."""
    alone = (lane(Kind.KEYWORD, 1.0, "d", "a", "b"),)
    lost = ("other vector/main: failed, refused",)
    return [
        *(asked(f"q{number}") for number in range(3)),
        *(asked(f"q{number}", collection="other", lists=alone) for number in range(2)),
        asked("q9", collection="other", lists=alone, status=Status.PARTIAL, lost=lost),
    ]


def test_an_interval_is_that_of_the_resampled_mean_and_the_seed_decides_it():
    first, other = np.zeros(200), np.random.default_rng(1).normal(0.1, 1.0, 200)
    found = interval(first, other)

    width = 2 * 1.96 * other.std() / np.sqrt(200)
    assert found.mean == pytest.approx(other.mean())
    assert found.high - found.low == pytest.approx(width, rel=0.05)
    assert interval(first, other) == found
    assert interval(first, other, seed=6) != found


def test_columns_are_resampled_by_the_same_questions():
    values = np.random.default_rng(2).random((40, 2))
    means = resampled_means(np.column_stack([values, values[:, 1] - values[:, 0]]), 1_200)

    assert means.shape == (1_200, 3)
    assert means[:, 2] == pytest.approx(means[:, 1] - means[:, 0])


def test_means_and_differences_by_collection_and_over_all():
    figures = figures_of(records(), POLICIES)
    summary = summarise(figures, resamples=200)

    assert [one.name for one in figures] == ["tiny", "other"]
    assert summary.baseline == "answer (rrf, k 60, 0 seats)"
    # b, d, a, c: gains 1 and 2 of the ideal 2 and 1.
    discount = 1 / np.log2(3)
    fused = {line.name: line for line in summary.collections["tiny"]}[summary.baseline]
    assert fused.means["nDCG@10"].mean == pytest.approx((1 + 2 * discount) / (2 + discount))
    assert fused.differences == {}
    vector = next(line for line in summary.overall if line.name == "vector/main")
    assert vector.collections == 1
    assert vector.differences["nDCG@10"].mean == pytest.approx(0.0)
    assert best_lane(summary.overall, "nDCG@10") is vector


def test_markdown_tells_what_is_missing():
    figures = figures_of(records(), POLICIES)
    text = markdown(figures, summarise(figures, resamples=200), "Evaluation", ["seed 5"])

    assert text.startswith("# Evaluation\n\n- seed 5\n")
    assert (
        "- other: 2 complete, 1 partial; fused again offline: 0 differences of order and 0 of score in 9 places" in text
    )
    assert "- other: 1 × other vector/main: failed, refused" in text
    less = "nDCG@10 of answer (rrf, k 60, 0 seats) less that of the best lane"
    assert f"- mean of 2 collections: {less}, vector/main, in 1 of 2 collections: +0.0000 (+0.0000 to +0.0000)" in text
    assert f"- other: 3 queries: {less}, keyword/main: +0.0000 (+0.0000 to +0.0000)" in text
    assert text.count("\n## ") == 3
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {6}


def test_the_page_stands_alone_and_shows_every_list():
    figures = figures_of(records(), POLICIES)
    page = html(figures, summarise(figures, resamples=200), "a <b> & c", ["seed 5"])

    assert not re.search(r"<script|<link|https?://|url\(|@import", page)
    assert "<h1>a &lt;b&gt; &amp; c</h1>" in page
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 3
    for picture, lines in zip(pictures, (5, 5, 4), strict=True):
        assert len(ElementTree.fromstring(picture).findall(".//circle")) == lines - 1
