"""Calibration: margins become probabilities that are as sure as they are right."""

import numpy as np
import pytest

from fanfuse_training.calibration import calibrate, log_softmax
from fanfuse_training.measuring import calibration_error


def drawn(sharpness, bias, queries=4_000, seed=3):
    """Margins, and labels drawn from softmax(sharpness × (margins + bias))."""
    chance = np.random.default_rng(seed)
    margins = chance.normal(size=(queries, 3))
    probabilities = np.exp(log_softmax((margins + bias) * sharpness))
    return margins, np.array([chance.choice(3, p=row) for row in probabilities])


def test_temperature_and_bias_are_found():
    found = calibrate(*drawn(4.0, np.array([0.5, 0.0, -0.5])))

    assert found.temperature == pytest.approx(0.25, rel=0.1)
    assert found.bias - found.bias[1] == pytest.approx([0.5, 0.0, -0.5], abs=0.06)


def test_probabilities_are_true():
    margins, labels = drawn(2.0, np.array([0.3, 0.0, 0.0]))
    fresh, fresh_labels = drawn(2.0, np.array([0.3, 0.0, 0.0]), seed=4)

    log_p = calibrate(margins, labels).log_probabilities(fresh)

    right = log_p.argmax(axis=1) == fresh_labels
    assert calibration_error(np.exp(log_p.max(axis=1)), right) < 0.03


def test_labels_that_are_never_wrong_are_not_certain():
    margins = np.eye(3)[[0, 1, 2] * 4]

    log_p = calibrate(margins, np.array([0, 1, 2] * 4)).log_probabilities(margins)

    assert 0.8 < np.exp(log_p.max(axis=1)).min() < 0.99


def test_margins_that_say_nothing_give_the_shares():
    log_p = calibrate(np.zeros((100, 2)), np.array([0] * 80 + [1] * 20)).log_probabilities(np.zeros((1, 2)))

    assert np.exp(log_p)[0] == pytest.approx([0.8, 0.2], abs=0.02)


def test_log_softmax_of_huge_numbers_is_finite():
    assert np.isfinite(log_softmax(np.array([[1e300, -1e300], [0.0, 0.0]]))).all()
