"""The comparison of fusion policies as Markdown. Pure: figures in, text out."""

from collections.abc import Sequence

import numpy as np

from fanfuse_bench.figures import table
from fanfuse_bench.fusion import Measured, SetFigures, Variant
from fanfuse_evaluation.bootstrap import interval


def quality_table(sets: Sequence[SetFigures]) -> str:
    """nDCG@10 per set, with the sets' single lists first."""
    names = dict.fromkeys(name for one in sets for name in one.singles)
    singles = [(name, *(_figure(one.singles.get(name)) for one in sets)) for name in names]
    rows = zip(*(one.rows for one in sets), strict=True)
    fused = [(row[0].variant.name, *(f"{one.ndcg.mean():.4f}" for one in row)) for row in rows]
    return table(("nDCG@10", *(one.name for one in sets)), [*singles, *fused])


def difference_table(sets: Sequence[SetFigures]) -> str:
    """Each variant against the first: mean difference and 95 % interval, in thousandths; last, over all questions."""
    rows = []
    for at in range(1, len(sets[0].rows)):
        pairs = [(one.rows[0].ndcg, one.rows[at].ndcg) for one in sets]
        whole = tuple(np.concatenate(side) for side in zip(*pairs, strict=True))
        cells = [_interval(*interval(first, other)) for first, other in (*pairs, whole)]
        rows.append((sets[0].rows[at].variant.name, *cells))
    header = (f"difference to {sets[0].rows[0].variant.name}, ×1000", *(one.name for one in sets), "all questions")
    return table(header, rows)


def merged_table(sets: Sequence[SetFigures]) -> str:
    """Each variant against one index over every corpus, in thousandths, where there are several corpora."""
    several = [(one, one.merged) for one in sets if one.merged is not None]
    rows = [
        (row.variant.name, *(_interval(*interval(merged, one.rows[at].ndcg)) for one, merged in several))
        for at, row in enumerate(sets[0].rows)
    ]
    return table(("difference to one merged index, ×1000", *(one.name for one, _ in several)), rows)


def fate_table(sets: Sequence[SetFigures]) -> str:
    """Share of exclusive first hits in the fused first ten."""
    rows = zip(*(one.rows for one in sets), strict=True)
    counted = ("exclusive first hits", *(one.rows[0].fate.exclusive for one in sets))
    return table(("kept in the first ten", *(one.name for one in sets)), [counted, *map(_fates, rows)])


def time_table(times: Sequence[tuple[Variant, float]]) -> str:
    """CPU per fusion."""
    header = ("900 hits of nine lanes, three corpora", "CPU p50 µs")
    return table(header, [(variant.name, f"{taken:.0f}") for variant, taken in times])


def _fates(row: Sequence[Measured]) -> Sequence[object]:
    return (row[0].variant.name, *(f"{one.fate.kept / one.fate.exclusive:.3f}" for one in row))


def _figure(value: float | None) -> str:
    return f"{value:.4f}" if value else "–"


def _interval(mean: float, low: float, high: float) -> str:
    return f"{1e3 * mean:+.1f} ({1e3 * low:+.1f} to {1e3 * high:+.1f})"
