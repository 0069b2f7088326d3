"""Holds queries out of the training.

In: labelled queries and a share. Out: two lists in the order of the file, with the share of every corpus in the second.
The same queries are always split alike.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from fanfuse_training.labelled import LabelledQuery

MAX_HELD_OUT: Final = 0.5
_SEED: Final = 0


def hold_out(queries: Sequence[LabelledQuery], share: float) -> tuple[list[LabelledQuery], list[LabelledQuery]]:
    """What is fitted on, and what is held out: at least one query of each corpus. 0 < share ≤ 0.5, or `ValueError`."""
    if not 0.0 < share <= MAX_HELD_OUT:
        raise ValueError(f"held_out {share:g} must be above 0 and at most {MAX_HELD_OUT}")
    chance = np.random.default_rng(_SEED)
    held: set[int] = set()
    for corpus in sorted({query.corpus for query in queries}):
        rows = [row for row, query in enumerate(queries) if query.corpus == corpus]
        held.update(chance.permutation(rows)[: max(1, round(len(rows) * share))].tolist())
    return (
        [query for row, query in enumerate(queries) if row not in held],
        [query for row, query in enumerate(queries) if row in held],
    )
