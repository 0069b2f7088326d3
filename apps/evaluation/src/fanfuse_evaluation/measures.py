"""How good ranked lists are. In: ranked lists and graded judgements. Out: one value per question and measure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG
from numpy.typing import NDArray

Grades = Mapping[str, int]
Values = NDArray[np.float64]

NDCG: Final = "nDCG@10"
MEASURES: Final[Mapping[str, Any]] = {NDCG: nDCG @ 10, "R@100": R @ 100, "MRR@10": RR @ 10}
"""As trec_eval computes them: linear gains; a question without a list counts as zero."""


def measured(
    measures: Mapping[str, Any], grades: Sequence[Grades], lists: Sequence[Sequence[str]]
) -> Mapping[str, Values]:
    """Values by measure, one per question. `lists`: distinct documents, best first, in the order of `grades`."""
    judged = [ir_measures.Qrel(str(at), doc, grade) for at, one in enumerate(grades) for doc, grade in one.items()]
    found = [ir_measures.ScoredDoc(str(at), doc, -rank) for at, ids in enumerate(lists) for rank, doc in enumerate(ids)]
    names = {measure: name for name, measure in measures.items()}
    values = {name: np.zeros(len(grades)) for name in measures}
    for metric in ir_measures.iter_calc(list(measures.values()), judged, found):
        values[names[metric.measure]][int(metric.query_id)] = metric.value
    return values


def ndcg(grades: Sequence[Grades], lists: Sequence[Sequence[str]], depth: int = 10) -> Values:
    """nDCG at `depth` of one list per question, best first."""
    return measured({"nDCG": nDCG @ depth}, grades, lists)["nDCG"]


def recall(grades: Sequence[Grades], lists: Sequence[Sequence[str]], depth: int) -> Values:
    """Share of the relevant documents in the first `depth`."""
    return measured({"R": R @ depth}, grades, lists)["R"]
