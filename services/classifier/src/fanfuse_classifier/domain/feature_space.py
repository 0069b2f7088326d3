"""Turns features into a sparse vector, the same while fitting and while answering.

In: features of a text. Out: column numbers and values. Counts are damped (1 + ln n) and weighed by rarity
(ln((1 + N) / (1 + df)) + 1, N texts of which df have the feature), then each block is brought to its length. Unknown
features count for the length, so a text that says little known stays near the origin. It knows no corpus.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fanfuse_classifier.domain.features import COUNTED, Block, Features

Columns = NDArray[np.intp]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _BlockSpace:
    places: Mapping[str, int]
    rarity: Values
    """One value per place, and a last one for every unknown feature."""
    offset: int
    counted: bool

    def vector(self, found: Mapping[str, float], length: float) -> tuple[Columns, Values]:
        unknown = len(self.places)
        places = np.fromiter((self.places.get(name, unknown) for name in found), np.intp, len(found))
        values = np.fromiter(found.values(), np.float64, len(found))
        if self.counted:
            values = 1.0 + np.log(values)
        values *= self.rarity[places]
        values *= length / math.sqrt(values @ values)
        return places + self.offset, values


class FeatureSpace:
    """Columns of the known features, block by block; after each block a column for whatever is unknown.

    `frequencies`: block → feature → number of texts that have it, in column order. `texts`: N. `lengths`: block →
    length of its part of a vector, 0 leaves the block out.
    """

    def __init__(
        self, frequencies: Mapping[Block, Mapping[str, int]], texts: int, lengths: Mapping[Block, float]
    ) -> None:
        self._lengths = {block: length for block in Block if (length := lengths.get(block, 0.0)) > 0.0}
        self._blocks: dict[Block, _BlockSpace] = {}
        width = 0
        for block in self._lengths:
            known = frequencies.get(block, {})
            self._blocks[block] = _BlockSpace(
                {name: place for place, name in enumerate(known)},
                _rarity([*known.values(), 0], texts) if block in COUNTED else np.ones(len(known) + 1),
                width,
                block in COUNTED,
            )
            width += len(known) + 1
        self.width = width
        """Number of columns."""

    def columns_of(self, block: Block) -> range:
        """The columns of a block's known features, in their order; empty for a block that is left out."""
        space = self._blocks.get(block)
        return range(space.offset, space.offset + len(space.places)) if space else range(0)

    def unknown_columns(self) -> list[int]:
        """The columns that stand for unknown features: their weights are 0."""
        return [space.offset + len(space.places) for space in self._blocks.values()]

    def vector(self, features: Features) -> tuple[Columns, Values]:
        """Columns and values of one text; a column of unknown features may stand several times."""
        parts = [
            self._blocks[block].vector(found, length)
            for block, length in self._lengths.items()
            if (found := features.get(block))
        ]
        if not parts:
            return np.empty(0, np.intp), np.empty(0)
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def count_frequencies(texts: Sequence[Features], least: int) -> dict[Block, dict[str, int]]:
    """Block → feature → number of texts that have it, for features of `least` texts or more, sorted by name."""
    return {block: _frequent((found.get(block, {}) for found in texts), least) for block in Block}


def _frequent(texts: Iterable[Mapping[str, float]], least: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for found in texts:
        counts.update(found.keys())
    return {name: count for name, count in sorted(counts.items()) if count >= least}


def _rarity(frequencies: Sequence[int], texts: int) -> Values:
    rarity: Values = np.log((1.0 + texts) / (1.0 + np.array(frequencies, np.float64))) + 1.0
    return rarity
