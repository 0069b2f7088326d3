"""Turns features into a sparse vector, the same while fitting and while answering.

In: features of a text. Out: column numbers and values. Counts are damped (1 + ln n) and weighed by rarity
(ln((1 + N) / (1 + df)) + 1, N texts of which df have the feature), then each block is brought to its length. Unknown
features count for the length, so a text that says little known stays near the origin. It knows no corpus.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat

import numpy as np
from numpy.typing import NDArray

from fanfuse_classifier.domain.features import COUNTED, Block, Features

Columns = NDArray[np.intp]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Part:
    """One block's columns. `places`: feature to column; `unknown`: the column of every other feature."""

    block: Block
    places: Mapping[str, int]
    unknown: int
    length: float


class FeatureSpace:
    """Columns of the known features, block by block; after each block a column for whatever is unknown.

    `frequencies`: block → feature → number of texts that have it, in column order. `texts`: N. `lengths`: block →
    length of its part of a vector, 0 leaves the block out.
    """

    def __init__(
        self, frequencies: Mapping[Block, Mapping[str, int]], texts: int, lengths: Mapping[Block, float]
    ) -> None:
        self._parts: list[_Part] = []
        rarities: list[Values] = []
        self.width = 0
        """Number of columns."""
        for block in (block for block in Block if lengths.get(block, 0.0) > 0.0):
            known = frequencies.get(block, {})
            places = {name: column for column, name in enumerate(known, start=self.width)}
            self._parts.append(_Part(block, places, self.width + len(known), lengths[block]))
            counted = block in COUNTED
            rarities.append(_rarity([*known.values(), 0], texts) if counted else np.ones(len(known) + 1))
            self.width += len(known) + 1
        self._rarity = np.concatenate(rarities) if rarities else np.empty(0)

    def columns_of(self, block: Block) -> range:
        """The columns of a block's known features, in their order; empty for a block that is left out."""
        return next((range(p.unknown - len(p.places), p.unknown) for p in self._parts if p.block is block), range(0))

    def unknown_columns(self) -> list[int]:
        """The columns that stand for unknown features: their weights are 0."""
        return [part.unknown for part in self._parts]

    def vector(self, features: Features) -> tuple[Columns, Values]:
        """Columns and values of one text; a column of unknown features may stand several times."""
        # Numpy is called once for all blocks: a query has some two hundred features, and most of the time is in calls.
        found = [(part, features[part.block]) for part in self._parts if features.get(part.block)]
        if not found:
            return np.empty(0, np.intp), np.empty(0)
        sizes = [len(names) for _, names in found]
        total = sum(sizes)
        columns = np.fromiter(
            chain.from_iterable(map(part.places.get, names, repeat(part.unknown)) for part, names in found),
            np.intp,
            total,
        )
        values = np.fromiter(chain.from_iterable(names.values() for _, names in found), np.float64, total)
        counted = sum(len(names) for part, names in found if part.block in COUNTED)
        values[:counted] = 1.0 + np.log(values[:counted])
        values *= self._rarity[columns]
        starts = [0, *accumulate(sizes[:-1])]
        lengths = np.array([part.length for part, _ in found]) / np.sqrt(np.add.reduceat(values * values, starts))
        return columns, values * np.repeat(lengths, sizes)


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
