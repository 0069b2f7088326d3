"""The linear model: one support-vector machine per corpus against all others.

In: vectors, labels, C. Out: weights (column × corpus) and biases, nothing of scikit-learn. Corpora count alike however
many queries they have. The same input gives the same output.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

_SEED: Final = 0
_ITERATIONS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Machine:
    """Margins = vectors · weights + bias."""

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]

    def margins(self, vectors: csr_matrix) -> NDArray[np.float64]:
        """Query × corpus; above 0: on the corpus's side."""
        margins: NDArray[np.float64] = vectors @ self.weights + self.bias
        return margins


def fit_machine(vectors: csr_matrix, labels: NDArray[np.intp], corpora: int, penalty: float) -> Machine:
    """Fit on all rows; every one of the corpora must have a label."""
    fitted = LinearSVC(C=penalty, class_weight="balanced", random_state=_SEED, max_iter=_ITERATIONS)
    fitted.fit(vectors, labels)
    weights, bias = np.asarray(fitted.coef_, np.float64), np.asarray(fitted.intercept_, np.float64)
    if corpora == 2:  # scikit-learn fits one machine for two classes
        weights, bias = np.concatenate([-weights, weights]), np.concatenate([-bias, bias])
    return Machine(weights.T.copy(), bias)
