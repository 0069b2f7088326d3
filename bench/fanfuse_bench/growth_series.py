"""One growth as a table and as curves: figures against what was varied. Pure: numbers in, text out.

Each cell tells how many times the first row's it is; the last rows tell slopes by least squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression

from fanfuse_bench.curves import Curve, draw
from fanfuse_bench.figures import table


@dataclass(frozen=True, slots=True)
class Series:
    """`rows`: what was varied, then a figure per column. `over`: pairs of columns whose slopes are compared."""

    varied: str
    one: str
    """Its unit, one of it."""
    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    told: str = ""
    over: tuple[tuple[int, int], ...] = ()
    drawn: tuple[int, ...] = (0,)
    """The columns that the picture shows."""

    def slope(self, column: int) -> float:
        """Of a column per unit of what was varied."""
        return linear_regression([row[0] for row in self.rows], [row[1 + column] for row in self.rows]).slope

    def times(self, row: Sequence[float], column: int) -> float:
        """A figure as a multiple of the first row's."""
        return row[1 + column] / self.rows[0][1 + column]


def report(found: Sequence[Series]) -> str:
    """A heading, what was asked and a table for each."""
    return "\n\n".join(f"### {one.varied}\n\n{one.told}\n\n{series_table(one)}" for one in found)


def series_table(series: Series) -> str:
    """A row per value, the slopes, and where there is a floor how many times its slope the flow's is."""
    columns = range(len(series.columns))
    rows: list[Sequence[object]] = [
        (f"{row[0]:,g}", *(f"{row[1 + at]:.2f} (× {series.times(row, at):.2f})" for at in columns))
        for row in series.rows
    ]
    rows.append((f"per {series.one}", *(f"{series.slope(at):.3g}" for at in columns)))
    if series.over:
        ratios = {high: f"{series.slope(high) / series.slope(low):.2f} ×" for high, low in series.over}
        rows.append((f"flow over floor, per {series.one}", *(ratios.get(at, "") for at in columns)))
    return table((series.varied, *series.columns), rows)


def picture(found: Sequence[Series]) -> str:
    """Each growth as multiples of its first row, against how many times as much was varied."""
    curves = [
        Curve(
            f"{series.varied}, {series.columns[at]}",
            [(row[0] / series.rows[0][0], series.times(row, at)) for row in series.rows],
            number,
        )
        for number, series in enumerate(found)
        for at in series.drawn
    ]
    return draw(
        curves, "Cost and throughput, times those of the first row", "times as much of what is varied", log=True
    )
