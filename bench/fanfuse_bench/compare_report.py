"""The comparison as Markdown. Pure: outcomes in, text out."""

import argparse
from collections.abc import Mapping, Sequence

import numpy as np

from fanfuse_bench.compare_engines import Trouble
from fanfuse_bench.compare_outcome import Outcome
from fanfuse_bench.figures import quantile, table
from fanfuse_evaluation.bootstrap import RESAMPLES, SEED

OURS = "Fanfuse"


def report(
    rounds: Sequence[Sequence[Outcome]], troubles: Mapping[Trouble, Sequence[Outcome]], options: argparse.Namespace
) -> str:
    """Healthy first, then one table per trouble."""
    told = (
        f"{len(rounds)} rounds of {options.queries} queries, {options.concurrency} at once; engines in the same process"
    )
    parts = ["### All engines well", told, healthy_table(rounds)]
    for trouble, outcomes in troubles.items():
        parts += [f"### One of three engines: {trouble.value}", trouble_table(outcomes, options.budget_ms)]
    return "\n\n".join(parts)


def healthy_table(rounds: Sequence[Sequence[Outcome]]) -> str:
    """Medians of rounds, and Fanfuse's CPU as a multiple within each round, with its 95 % bootstrap interval."""
    header = (
        "", "answered", "queries/s", "p50 / p95 ms", "CPU ms/query", "of that the serving process", "peak MB",
        "Fanfuse's CPU, times this",
    )  # fmt: skip
    columns = list(zip(*rounds, strict=True))
    ours = next(column for column in columns if column[0].name == OURS)
    return table(header, [_healthy(column, ours) for column in columns])


def _healthy(column: Sequence[Outcome], ours: Sequence[Outcome]) -> Sequence[object]:
    latencies = [one for outcome in column for one in outcome.latencies_ms]
    return (
        column[0].name,
        _share(sum(one.queries - sum(one.failed.values()) for one in column), sum(one.queries for one in column)),
        f"{quantile([one.queries / one.seconds for one in column], 0.5):.0f}",
        f"{quantile(latencies, 0.5):.0f} / {quantile(latencies, 0.95):.0f}" if latencies else "",
        quantile([one.cpu_ms for one in column], 0.5),
        quantile([one.cpu_s / one.queries * 1e3 for one in column], 0.5),
        f"{max(one.peak_mb for one in column):.0f}" if column[0].peak_mb else "",
        "" if column is ours else ratio([one.cpu_ms for one in ours], [one.cpu_ms for one in column]),
    )


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Median of the ratios within rounds, and the interval of that median when rounds are drawn anew."""
    ratios = np.array(ours) / np.array(theirs)
    chosen = np.random.default_rng(SEED).integers(0, len(ratios), (RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(ratios[chosen], axis=1), (0.025, 0.975))
    return f"{np.median(ratios):.2f} ({low:.2f} to {high:.2f})"


def trouble_table(outcomes: Sequence[Outcome], budget_ms: int, names: Sequence[str] = ()) -> str:
    """Who answers, when, and who says what is missing; `names` stand for the contenders' own."""
    header = ("", "answered", "p50 / p95 / max ms", f"within {budget_ms} ms", "what is missing is named", "errors")
    shown = names or [one.name for one in outcomes]
    return table(header, [(name, *_troubled(one, budget_ms)) for name, one in zip(shown, outcomes, strict=True)])


def _troubled(one: Outcome, budget_ms: int) -> Sequence[object]:
    answered = len(one.latencies_ms)
    spread = " / ".join(f"{quantile(one.latencies_ms, share):.0f}" for share in (0.5, 0.95, 1.0)) if answered else "–"
    return (
        _share(answered, one.queries),
        spread,
        _share(sum(latency <= budget_ms for latency in one.latencies_ms), one.queries),
        _named(one, answered),
        ", ".join(f"{count} {name}" for name, count in sorted(one.failed.items())) or "none",
    )


def _named(one: Outcome, answered: int) -> str:
    if one.whole is None or one.named is None:
        return "nothing is told"
    missing = answered - one.whole
    return f"in {one.named} of {missing} answers that miss it"


def _share(part: float, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"
