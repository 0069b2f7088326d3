"""Figures of merit, by hand."""

import numpy as np
import pytest

from fanfuse_training.floor import FLOORS, choose_floor
from fanfuse_training.labelled import LabelledQuery
from fanfuse_training.measuring import calibration_error, measure

CORPORA = ("a", "b", "c", "d")


def rows(*probabilities):
    return np.log(np.array(probabilities))


def test_accuracy_languages_and_confusions():
    log_p = rows([0.7, 0.1, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.1, 0.7])
    queries = [
        LabelledQuery("1", "a", "en"), LabelledQuery("2", "b", "en"), LabelledQuery("3", "d", "zh"),
        LabelledQuery("4", "d"),
    ]  # fmt: skip

    figures = measure(log_p, queries, CORPORA)

    assert (figures.queries, figures.accuracy_1, figures.accuracy_3) == (4, 0.5, 0.75)
    assert {name: (one.queries, one.accuracy_1) for name, one in figures.languages.items()} == {
        "en": (2, 0.5), "unstated": (1, 1.0), "zh": (1, 0.0),
    }  # fmt: skip
    assert [(pair.labelled, pair.predicted, pair.queries) for pair in figures.confusions] == [
        ("b", "a", 1),
        ("d", "a", 1),
    ]
    assert figures.log_loss == pytest.approx(-np.log([0.7, 0.3, 0.1, 0.7]).mean())


def test_calibration_error_is_the_mean_gap_of_its_bins():
    confidence = np.array([0.95, 0.95, 0.95, 0.95, 0.51, 0.51])
    right = np.array([True, True, True, False, True, False])

    assert calibration_error(confidence, right) == pytest.approx((4 * 0.2 + 2 * 0.01) / 6)


def test_certainty_falls_into_the_last_bin():
    assert calibration_error(np.array([1.0, 0.97]), np.array([True, True])) == pytest.approx(0.015)


def test_the_floor_is_the_highest_that_loses_almost_no_label():
    labels = np.zeros(2_000, np.intp)
    chances = np.full((2_000, 2), 0.5)
    chances[:2] = [0.015, 0.985]
    assert choose_floor(np.log(chances), labels) == 0.05

    chances[:3] = [0.015, 0.985]
    assert choose_floor(np.log(chances), labels) == 0.01

    chances[:3] = [0.0001, 0.9999]
    assert choose_floor(np.log(chances), labels) == FLOORS[-1]
