"""Fits a profile on labelled queries and measures it on queries that were held out.

In: files of labelled queries. Out: a `FitReport` with the profile; `write_profile` writes it. The profile is the one
that was measured: held-out queries are never fitted on. The same input gives the same bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from fanfuse_classifier.domain.features import read_features
from fanfuse_classifier.domain.profile import (
    FORMAT,
    FORMAT_VERSION,
    Figures,
    LinearModel,
    Profile,
    Report,
    TrainingData,
)
from fanfuse_classifier.domain.trained import TrainedScorer
from fanfuse_training.building import build_model
from fanfuse_training.calibration import calibrate
from fanfuse_training.floor import choose_floor
from fanfuse_training.labelled import (
    LabelledQueries,
    LabelledQuery,
    check_for_test,
    check_for_training,
    count_per_corpus,
    read_labelled,
)
from fanfuse_training.measuring import measure
from fanfuse_training.selection import Settings, choose
from fanfuse_training.splitting import hold_out
from fanfuse_training.telling import tell

DEFAULT_HELD_OUT: Final = 0.2

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FitReport:
    """A fitted profile and the settings that cross-validation chose."""

    profile: Profile
    settings: Settings

    @property
    def held_out(self) -> Figures:
        """On queries that were neither fitted on nor used to choose anything."""
        return self.profile.report.held_out

    @property
    def cross_validated(self) -> Figures:
        """On the training queries, each by a model that did not see it; the calibration saw all."""
        return self.profile.report.cross_validated

    def lines(self) -> list[str]:
        """What was fitted and measured, for a terminal."""
        return list(tell(self.profile))

    def to_json(self) -> str:
        """What was fitted and measured: the profile without its features."""
        return self.profile.model_dump_json(exclude={"model": {"features"}})

    def write_profile(self, path: Path) -> None:
        """Write the profile to `path`, whole or not at all; raises `OSError`."""
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(self.profile.to_lines(), encoding="utf-8")
        partial.replace(path)


@dataclass(frozen=True, slots=True)
class _Task:
    """`fitted` and `judged` queries, and the SHA-256 of the files they are from."""

    fitted: Sequence[LabelledQuery]
    judged: Sequence[LabelledQuery]
    fitted_sha256: str
    judged_sha256: str


def fit_profile(
    queries: Path,
    *,
    test: Path | None = None,
    held_out: float = DEFAULT_HELD_OUT,
    tenant: str | None = None,
    progress: Progress = lambda _: None,
) -> FitReport:
    """Fit on `queries`; measure on the file `test`, or else on the share `held_out` of each corpus's `queries`.

    `tenant`: whose corpora these are; None: those of every tenant that has corpora of these ids. `progress` hears one
    line at a time. Raises `LabelledError` with file and line, `ValueError` for a share that is not in (0, 0.5].
    """
    labelled = read_labelled(queries)
    check_for_training(labelled)
    task = _held_out(labelled, held_out) if test is None else _with_test(labelled, read_labelled(test))
    corpora = tuple(count_per_corpus(task.fitted))
    progress(f"{len(corpora)} corpora: {len(task.fitted)} queries to fit on, {len(task.judged)} to measure on")
    model, settings, cross_validated = _fit(task.fitted, corpora, progress)
    report = Report(
        held_out=_measured(model, task.judged),
        held_out_sha256=task.judged_sha256,
        cross_validated=cross_validated,
    )
    trained_on = TrainingData(
        sha256=task.fitted_sha256,
        queries=len(task.fitted),
        per_corpus=count_per_corpus(task.fitted),
        penalty=settings.penalty,
    )
    profile = Profile(
        format=FORMAT, version=FORMAT_VERSION, tenant=tenant, trained_on=trained_on, report=report, model=model
    )
    return FitReport(profile, settings)


def _held_out(labelled: LabelledQueries, share: float) -> _Task:
    fitted, judged = hold_out(labelled.queries, share)
    return _Task(fitted, judged, labelled.sha256, labelled.sha256)


def _with_test(labelled: LabelledQueries, test: LabelledQueries) -> _Task:
    check_for_test(test, labelled.corpora)
    return _Task(labelled.queries, test.queries, labelled.sha256, test.sha256)


def _fit(
    queries: Sequence[LabelledQuery], corpora: tuple[str, ...], progress: Progress
) -> tuple[LinearModel, Settings, Figures]:
    features = [read_features(query.text) for query in queries]
    labels = np.array([corpora.index(query.corpus) for query in queries])
    chosen = choose(features, labels, progress)
    progress(f"chosen: {chosen.settings}")
    calibration = calibrate(chosen.margins, labels)
    log_probabilities = calibration.log_probabilities(chosen.margins)
    floor = choose_floor(log_probabilities, labels)
    model = build_model(features, labels, corpora, chosen.settings, calibration, floor)
    return model, chosen.settings, measure(log_probabilities, queries, corpora)


def _measured(model: LinearModel, queries: Sequence[LabelledQuery]) -> Figures:
    """By the scorer that answers queries."""
    scorer = TrainedScorer(model)
    return measure(np.array([scorer.log_probabilities(query.text) for query in queries]), queries, model.corpora)
