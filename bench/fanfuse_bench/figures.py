"""Figures from samples, and Markdown tables. Pure: numbers in, text out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


def quantile(values: Sequence[float], share: float) -> float:
    """Nearest-rank quantile; NaN where there is nothing to measure."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


@dataclass(frozen=True, slots=True)
class Spread:
    """p50, p95 and p99 of one population."""

    p50: float
    p95: float
    p99: float

    def __str__(self) -> str:
        return f"{self.p50:.1f} / {self.p95:.1f} / {self.p99:.1f}"


def spread(values: Sequence[float]) -> Spread:
    """The three quantiles that are reported."""
    return Spread(quantile(values, 0.50), quantile(values, 0.95), quantile(values, 0.99))


def counts(of: Mapping[str, int]) -> str:
    """Numbers of things in words."""
    return ", ".join(f"{number} {name}" for name, number in of.items()) or "0"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
