"""Chooses the probability from which on something speaks for a corpus.

In: cross-validated log-probabilities and the labels. Out: the highest floor that keeps all but one labelled corpus in a
thousand: a lower one would ask more corpora and find nothing more.
"""

import math
from typing import Final

import numpy as np

from fanfuse_training.calibration import Labels, Matrix

FLOORS: Final = (0.05, 0.02, 0.01, 0.005)
MOST_LOST: Final = 0.001


def choose_floor(log_probabilities: Matrix, labels: Labels) -> float:
    """One of `FLOORS`; the lowest where each of them loses more."""
    of_label = log_probabilities[np.arange(len(labels)), labels]
    return next((floor for floor in FLOORS if _lost(of_label, floor) <= MOST_LOST), FLOORS[-1])


def _lost(of_label: Matrix, floor: float) -> float:
    return float((of_label <= math.log(floor)).mean())
