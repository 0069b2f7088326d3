"""Writes down a fitted linear model with the names of its features.

In: features of the training queries, labels, settings and calibration. Out: the `LinearModel` of a profile, rounded:
what is measured and what is loaded are the same numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from fanfuse_classifier.domain.feature_space import FeatureSpace, count_frequencies
from fanfuse_classifier.domain.features import Features
from fanfuse_classifier.domain.profile import FeatureRow, LinearModel
from fanfuse_training.calibration import Calibration, Labels
from fanfuse_training.design import LEAST_QUERIES, vectors
from fanfuse_training.machine import Machine, fit_machine
from fanfuse_training.selection import Settings

WEIGHT_DECIMALS: Final = 3
"""A weight is multiplied by a value of about 0.1, and a logit is a sum of some hundred: an error of about 0.003."""
_DECIMALS: Final = 6


def build_model(
    features: Sequence[Features],
    labels: Labels,
    corpora: tuple[str, ...],
    settings: Settings,
    calibration: Calibration,
    floor: float,
) -> LinearModel:
    """Fit on all the queries and write the result down."""
    frequencies = count_frequencies(features, LEAST_QUERIES)
    space = FeatureSpace(frequencies, len(features), settings.lengths)
    rows = vectors(space, features, np.arange(len(features)))
    machine = fit_machine(rows, labels, len(corpora), settings.penalty)
    return LinearModel(
        corpora=corpora,
        queries=len(features),
        lengths=dict(settings.lengths),
        bias=tuple((machine.bias + calibration.bias).round(_DECIMALS).tolist()),
        temperature=round(calibration.temperature, _DECIMALS),
        floor=floor,
        features={
            block: _rows(known, machine, space.columns_of(block))
            for block, known in frequencies.items()
            if settings.lengths[block] > 0.0
        },
    )


def _rows(known: Mapping[str, int], machine: Machine, columns: range) -> tuple[FeatureRow, ...]:
    # Adding 0.0 makes 0.0 of -0.0.
    weights = (machine.weights[columns].round(WEIGHT_DECIMALS) + 0.0).tolist()
    return tuple(
        FeatureRow(name, queries, tuple(row)) for (name, queries), row in zip(known.items(), weights, strict=True)
    )
