"""Chooses settings by cross-validation on the training queries.

In: features and labels. Out: the settings with the lowest log-loss, with the margins of every query by a model that did
not see it. It never sees a held-out query.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fanfuse_classifier.domain.features import Block, Features
from fanfuse_training.calibration import Labels, Matrix, calibrate
from fanfuse_training.design import Design, Split
from fanfuse_training.machine import fit_machine

FOLDS: Final = 5
PENALTIES: Final = (1.0, 3.0, 10.0)
WORD_LENGTHS: Final = (0.4, 0.8)
FORM_LENGTHS: Final = (0.0, 0.1, 0.2, 0.4)
SCRIPT_LENGTH: Final = 0.2
_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """`penalty`: C of the machines. `lengths`: length of each block's part of a vector; 0 leaves it out."""

    penalty: float
    lengths: Mapping[Block, float]

    def __str__(self) -> str:
        lengths = ", ".join(f"{block} {length:g}" for block, length in self.lengths.items())
        return f"C {self.penalty:g}, {lengths}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Settings, and the margins (query × corpus) of the models that were fitted with them on the other folds."""

    settings: Settings
    margins: Matrix
    log_loss: float


def candidates() -> Iterator[Settings]:
    """Every setting that is tried, in a fixed order."""
    for word, form, penalty in product(WORD_LENGTHS, FORM_LENGTHS, PENALTIES):
        lengths = {Block.GRAM: 1.0, Block.WORD: word, Block.FORM: form, Block.SCRIPT: SCRIPT_LENGTH}
        yield Settings(penalty=penalty, lengths=lengths)


def choose(features: Sequence[Features], labels: Labels, progress: Callable[[str], None]) -> Chosen:
    """The best candidate; of equal ones the first."""
    designs = [(split, Design(features, split)) for split in folds(labels)]

    def judge(settings: Settings) -> Chosen:
        margins = _out_of_fold(designs, labels, settings)
        judged = Chosen(settings, margins, _log_loss(margins, labels))
        progress(f"{settings}: log-loss {judged.log_loss:.4f}")
        return judged

    return min(map(judge, candidates()), key=lambda judged: judged.log_loss)


def folds(labels: Labels) -> Iterator[Split]:
    """Stratified: each fold has its share of every corpus; as many folds as the smallest corpus allows, at most 5."""
    count = min(FOLDS, int(np.bincount(labels).min()))
    for fitted, judged in StratifiedKFold(count, shuffle=True, random_state=_SEED).split(labels, labels):
        yield Split(fitted, judged)


def _out_of_fold(designs: Sequence[tuple[Split, Design]], labels: Labels, settings: Settings) -> Matrix:
    corpora = int(labels.max()) + 1
    margins = np.zeros((len(labels), corpora))
    for split, design in designs:
        machine = fit_machine(design.fitted(settings.lengths), labels[split.fitted], corpora, settings.penalty)
        margins[split.judged] = machine.margins(design.judged(settings.lengths))
    return margins


def _log_loss(margins: Matrix, labels: Labels) -> float:
    log_p = calibrate(margins, labels).log_probabilities(margins)
    return float(-log_p[np.arange(len(labels)), labels].mean())
