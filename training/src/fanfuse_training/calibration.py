"""Makes probabilities of margins: one temperature and one bias per corpus.

In: margins of queries that the models did not see (query × corpus) and the labels. Out: bias and temperature, with
P = softmax((margins + bias) / temperature). Maximum likelihood with two priors that matter for few queries only: biases
are small (standard deviation 1), and one query more than were seen is labelled wrongly (Laplace's rule of succession;
without it, labels that the margins separate perfectly would give a temperature of 0).
Source: temperature scaling, Guo et al. 2017, arXiv:1706.04599.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Matrix = NDArray[np.float64]
Labels = NDArray[np.intp]

_START: Final = 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """What margins are corrected with."""

    bias: Matrix
    temperature: float

    def log_probabilities(self, margins: Matrix) -> Matrix:
        """ln P, query × corpus."""
        return log_softmax((margins + self.bias) / self.temperature)


def log_softmax(logits: Matrix) -> Matrix:
    """Row by row; safe for any finite number."""
    shifted: Matrix = logits - logits.max(axis=1, keepdims=True)
    result: Matrix = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def calibrate(margins: Matrix, labels: Labels) -> Calibration:
    """The most likely correction."""
    targets = _targets(labels, margins.shape[1])

    def loss(point: Matrix) -> tuple[float, Matrix]:
        """Negative log-likelihood and its gradient; point = ln(1 / temperature), biases."""
        sharpness, bias = np.exp(point[0]), point[1:]
        log_p = log_softmax((margins + bias) * sharpness)
        surplus = np.exp(log_p) - targets
        slope = np.sum(surplus * (margins + bias)) * sharpness
        gradient = np.concatenate([[slope], surplus.sum(axis=0) * sharpness + bias])
        return float(-np.sum(targets * log_p) + bias @ bias / 2.0), gradient

    found = minimize(loss, np.full(margins.shape[1] + 1, _START), jac=True, method="L-BFGS-B").x
    return Calibration(found[1:], float(np.exp(-found[0])))


def _targets(labels: Labels, corpora: int) -> Matrix:
    doubt = 1.0 / (len(labels) + 2.0)
    targets = np.full((len(labels), corpora), doubt / (corpora - 1))
    targets[np.arange(len(labels)), labels] = 1.0 - doubt
    return targets
