"""nDCG@k of a ranked list, as trec_eval computes it: linear gains, log2 discount (Järvelin and Kekäläinen, 2002)."""

import math
from collections.abc import Mapping, Sequence


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """In [0, 1]; 0 where nothing is relevant. `ranked`: distinct document ids, best first."""
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    best = _gain(ideal[:k])
    return _gain([max(0, grades.get(document, 0)) for document in ranked[:k]]) / best if best else 0.0


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(grades, start=1))
