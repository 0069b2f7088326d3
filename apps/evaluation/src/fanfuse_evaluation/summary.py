"""Means and paired differences with intervals, per collection and over all of them. In: figures. Out: lines of a table.

Over several collections the mean is that of the collections' means, each resampled by itself, so that a large one
counts no more than a small one. What is missing in some collection is compared only where it is there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fanfuse_evaluation.bootstrap import RESAMPLES, SEED, Interval, interval_of, resampled_means
from fanfuse_evaluation.figures import CollectionFigures, Judged, Role
from fanfuse_evaluation.measures import MEASURES, Values


class Line(NamedTuple):
    """One maker of lists."""

    name: str
    role: Role
    collections: int
    """In how many it is there."""
    means: Mapping[str, Interval]
    """By measure."""
    differences: Mapping[str, Interval]
    """This less the baseline, by measure; empty for the baseline itself."""


class Summary(NamedTuple):
    """Tables by collection, and one over all where there are several."""

    baseline: str
    collections: Mapping[str, tuple[Line, ...]]
    overall: tuple[Line, ...]


class _Mean(NamedTuple):
    mean: float
    resampled: Values


class _Row(NamedTuple):
    role: Role
    values: Mapping[str, _Mean]
    differences: Mapping[str, _Mean]


def summarise(figures: Sequence[CollectionFigures], resamples: int = RESAMPLES, seed: int = SEED) -> Summary:
    """Everything that a report shows. `figures`: at least one."""
    baseline = next(row.name for row in figures[0].rows if row.role is not Role.LANE)
    found = {one.name: _resampled(one, baseline, resamples, seed) for one in figures}
    names = dict.fromkeys(name for rows in found.values() for name in rows)
    overall = [_line(name, [rows[name] for rows in found.values() if name in rows]) for name in names]
    return Summary(
        baseline,
        {name: tuple(_line(title, [row]) for title, row in rows.items()) for name, rows in found.items()},
        tuple(overall) if len(figures) > 1 else (),
    )


def best_lane(lines: Sequence[Line], measure: str) -> Line | None:
    """The lane that the baseline is least ahead of, where both are there; None where no lane is compared with it."""
    lanes = [line for line in lines if line.role is Role.LANE and line.differences]
    return max(lanes, key=lambda line: line.differences[measure].mean, default=None)


def _resampled(one: CollectionFigures, baseline: str, resamples: int, seed: int) -> dict[str, _Row]:
    base = one.row(baseline)
    columns = list(_columns(one.rows, base))
    matrix = np.column_stack([values for _, values in columns])
    means = resampled_means(matrix, resamples, seed)
    found = {key: _Mean(float(matrix[:, at].mean()), means[:, at]) for at, (key, _) in enumerate(columns)}
    return {
        row.name: _Row(
            row.role,
            {measure: found[row.name, measure, False] for measure in MEASURES},
            {measure: found[row.name, measure, True] for measure in MEASURES} if base not in (None, row) else {},
        )
        for row in one.rows
    }


def _columns(rows: Sequence[Judged], base: Judged | None) -> Iterator[tuple[tuple[str, str, bool], Values]]:
    """Values, and their differences from the baseline, by name, measure and which of both."""
    for row in rows:
        for measure, values in row.values.items():
            yield (row.name, measure, False), values
            if base is not None:
                yield (row.name, measure, True), values - base.values[measure]


def _line(name: str, rows: Sequence[_Row]) -> Line:
    compared = [row.differences for row in rows if row.differences]
    return Line(
        name,
        rows[0].role,
        len(rows),
        {measure: _over([row.values[measure] for row in rows]) for measure in MEASURES},
        {measure: _over([one[measure] for one in compared]) for measure in MEASURES} if compared else {},
    )


def _over(means: Sequence[_Mean]) -> Interval:
    mean = float(np.mean([one.mean for one in means]))
    return interval_of(mean, np.mean([one.resampled for one in means], axis=0))
