"""Design matrices: the sparse vectors of many queries.

In: features of queries and their row numbers. Out: scipy matrices. Frequencies are counted on the fitted rows alone, so
that the other rows are as new to the vectors as a query from outside.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from fanfuse_classifier.domain.feature_space import FeatureSpace, count_frequencies
from fanfuse_classifier.domain.features import Block, Features

LEAST_QUERIES: Final = 2
"""Queries a feature must be in: what occurs once has nothing to tell of another query."""

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Split:
    """Row numbers that are fitted on, and row numbers that are judged."""

    fitted: Rows
    judged: Rows


class Design:
    """Vectors of one split, each block at length 1, so that block lengths can be tried without counting again."""

    def __init__(self, features: Sequence[Features], split: Split) -> None:
        frequencies = count_frequencies([features[row] for row in split.fitted], LEAST_QUERIES)
        spaces = {block: FeatureSpace(frequencies, len(split.fitted), {block: 1.0}) for block in Block}
        self._fitted = {block: vectors(space, features, split.fitted) for block, space in spaces.items()}
        self._judged = {block: vectors(space, features, split.judged) for block, space in spaces.items()}

    def fitted(self, lengths: Mapping[Block, float]) -> csr_matrix:
        """Vectors of the fitted rows."""
        return _joined(self._fitted, lengths)

    def judged(self, lengths: Mapping[Block, float]) -> csr_matrix:
        """Vectors of the judged rows, in the same columns."""
        return _joined(self._judged, lengths)


def vectors(space: FeatureSpace, features: Sequence[Features], rows: Rows) -> csr_matrix:
    """Query × column. Unknown features have shortened what is known, and are left out."""
    unknown = np.zeros(space.width, np.bool_)
    unknown[space.unknown_columns()] = True
    columns, values, ends = [], [], [0]
    for found_columns, found_values in _each(space, features, rows):
        known = ~unknown[found_columns]
        columns.append(found_columns[known])
        values.append(found_values[known])
        ends.append(ends[-1] + len(columns[-1]))
    shape = (len(rows), space.width)
    return csr_matrix((np.concatenate(values), np.concatenate(columns), ends), shape=shape)


def _each(
    space: FeatureSpace, features: Sequence[Features], rows: Rows
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    return (space.vector(features[row]) for row in rows)


def _joined(blocks: Mapping[Block, csr_matrix], lengths: Mapping[Block, float]) -> csr_matrix:
    return hstack([blocks[block] * lengths[block] for block in Block if lengths[block] > 0.0]).tocsr()
