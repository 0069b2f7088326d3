"""How sure a mean is: percentile bootstrap intervals over questions, from a stated seed.

In: values per question. Out: means with 95 % intervals. Every column of one call is resampled by the same questions, so
that differences of columns are paired. Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fanfuse_evaluation.measures import Values

RESAMPLES: Final = 10_000
SEED: Final = 5
_AT_ONCE: Final = 500
_ENDS: Final = (0.025, 0.975)
Matrix = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


def resampled_means(values: Matrix, resamples: int = RESAMPLES, seed: int = SEED) -> Matrix:
    """Means (resamples × columns) of `values` (questions × columns, at least one question)."""
    questions = len(values)
    draw = np.random.default_rng(seed)
    means = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, _AT_ONCE):
        rows = min(_AT_ONCE, resamples - start)
        chosen = draw.integers(0, questions, (rows, questions), dtype=np.int32)
        chosen += (np.arange(rows, dtype=np.int32) * questions)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=rows * questions).reshape(rows, questions)
        means[start : start + rows] = counts @ values / questions
    return means


def interval_of(mean: float, means: Values) -> Interval:
    """The interval that resampled means give."""
    low, high = np.quantile(means, _ENDS)
    return Interval(mean, float(low), float(high))


def interval(first: Values, other: Values, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """Mean difference other - first over paired questions."""
    differences = (other - first)[:, None]
    return interval_of(float(differences.mean()), resampled_means(differences, resamples, seed)[:, 0])
