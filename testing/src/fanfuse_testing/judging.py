"""How good ranked lists are, and how sure that is.

In: ranked lists and graded judgements. Out: one value per question, and paired differences with bootstrap intervals.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import ir_measures
import numpy as np
from ir_measures import nDCG
from numpy.typing import NDArray

_RESAMPLES: Final = 10_000
_SEED: Final = 5
Grades = Mapping[str, int]
Values = NDArray[np.float64]


def interval(first: Values, other: Values) -> tuple[float, float, float]:
    """Mean difference other - first over paired questions, and its 95 % percentile bootstrap interval."""
    differences = other - first
    chosen = np.random.default_rng(_SEED).integers(0, len(differences), (_RESAMPLES, len(differences)), dtype=np.int32)
    low, high = np.quantile(differences[chosen].mean(axis=1), (0.025, 0.975))
    return float(differences.mean()), float(low), float(high)


def ndcg(grades: Sequence[Grades], lists: Sequence[Sequence[str]], depth: int = 10) -> Values:
    """nDCG at `depth` of one list per question, best first."""
    judged = [ir_measures.Qrel(str(at), doc, grade) for at, one in enumerate(grades) for doc, grade in one.items()]
    found = [
        ir_measures.ScoredDoc(str(at), doc, -rank)
        for at, ids in enumerate(lists)
        for rank, doc in enumerate(ids[:depth])
    ]
    values = np.zeros(len(grades))
    for metric in ir_measures.iter_calc([nDCG @ depth], judged, found):
        values[int(metric.query_id)] = metric.value
    return values


def recall(grades: Sequence[Grades], lists: Sequence[Sequence[str]], depth: int) -> Values:
    """Share of the relevant documents in the first `depth`."""
    gold = [{doc for doc, grade in one.items() if grade > 0} for one in grades]
    return np.array([len(wanted & set(ids[:depth])) / len(wanted) for wanted, ids in zip(gold, lists, strict=True)])
