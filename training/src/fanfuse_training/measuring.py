"""How good probabilities are.

In: log-probabilities (query × corpus), the labelled queries and the order of the corpora. Out: `Figures`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fanfuse_classifier.domain.profile import Confusion, Figures, LanguageFigures
from fanfuse_training.labelled import LabelledQuery

BINS: Final = 15
MOST_CONFUSIONS: Final = 10
UNSTATED: Final = "unstated"
"""Stands for the language of queries whose file states none."""


def measure(
    log_probabilities: NDArray[np.float64], queries: Sequence[LabelledQuery], corpora: Sequence[str]
) -> Figures:
    """Accuracy, calibration and confusions of some queries, at least one."""
    labels = np.array([corpora.index(query.corpus) for query in queries])
    rows = np.arange(len(labels))
    # Of equal probabilities the first corpus wins, as in the router.
    ranked = np.argsort(-log_probabilities, axis=1, kind="stable")
    right = ranked[:, 0] == labels
    confidence = np.exp(log_probabilities[rows, ranked[:, 0]])
    return Figures(
        queries=len(labels),
        accuracy_1=float(right.mean()),
        accuracy_3=float((ranked[:, :3] == labels[:, None]).any(axis=1).mean()),
        calibration_error=calibration_error(confidence, right),
        log_loss=float(max(-log_probabilities[rows, labels].mean(), 0.0)),
        languages=_by_language(queries, right),
        confusions=_confusions([corpora[label] for label in labels], [corpora[first] for first in ranked[:, 0]]),
    )


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Expected calibration error: `BINS` bins of equal width, mean |accuracy - confidence| weighted by queries."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=right.astype(float) - confidence, minlength=BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def _by_language(queries: Sequence[LabelledQuery], right: NDArray[np.bool_]) -> dict[str, LanguageFigures]:
    outcomes: dict[str, list[bool]] = {}
    for query, outcome in zip(queries, right.tolist(), strict=True):
        outcomes.setdefault(query.language or UNSTATED, []).append(outcome)
    return {
        language: LanguageFigures(queries=len(found), accuracy_1=sum(found) / len(found))
        for language, found in sorted(outcomes.items())
    }


def _confusions(labelled: Sequence[str], predicted: Sequence[str]) -> tuple[Confusion, ...]:
    wrong = Counter(pair for pair in zip(labelled, predicted, strict=True) if pair[0] != pair[1])
    ordered = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        Confusion(labelled=pair[0], predicted=pair[1], queries=count) for pair, count in ordered[:MOST_CONFUSIONS]
    )
