"""Reports of runs, as Markdown. Pure: figures in, text out."""

from collections import Counter
from collections.abc import Sequence

from fanfuse_bench.figures import counts, quantile, table
from fanfuse_bench.runs import Run

_OWNERS_SHOWN = 0.002
"""Packages with less of the loop's time than this are summed."""


def flow_report(done: Sequence[Run], functions: int = 0) -> str:
    """Answers, latency, CPU and its owners of each run."""
    parts = [_answers(done), _costs(done)]
    for run in done:
        parts += _profile(run, functions)
    return "\n\n".join(parts)


def _profile(run: Run, functions: int) -> list[str]:
    title = f"**{run.name}: the loop's {run.loop_ms:.2f} ms, by package** ({run.samples} samples)"
    return [title, _owners(run), *([_functions(run, functions)] if functions else [])]


def floor_report(rounds: Sequence[Sequence[Run]], functions: int = 0) -> str:
    """Floor, bus and codec, flow without texts, whole flow: medians of the rounds, and of the ratio in each round."""
    header = ("one process", "answers", "CPU ms/query", "× floor", "quartiles", "nats-server ms/query")
    rows = [_ratios([done[0].cpu_ms for done in rounds], column) for column in zip(*rounds, strict=True)]
    return "\n\n".join([table(header, rows), *_profiles(rounds[-1], functions)])


def _profiles(last: Sequence[Run], functions: int) -> list[str]:
    """Where the CPU of the first three goes."""
    return [part for run in last[:3] for part in _profile(run, functions)]


def _ratios(floors: Sequence[float], column: Sequence[Run]) -> Sequence[object]:
    ratios = [run.cpu_ms / low for run, low in zip(column, floors, strict=True)]
    return (
        column[0].name,
        counts(sum((Counter(run.statuses) for run in column), Counter())),
        quantile([run.cpu_ms for run in column], 0.5),
        quantile(ratios, 0.5),
        f"{quantile(ratios, 0.25):.2f} to {quantile(ratios, 0.75):.2f}",
        quantile([run.server_ms for run in column], 0.5),
    )


def _answers(done: Sequence[Run]) -> str:
    rows = [
        (
            run.name,
            run.queries,
            counts(run.statuses),
            f"{run.lanes:.2f}",
            run.stored_twice + run.heard_twice,
            _lost(run),
        )
        for run in done
    ]
    return table(("run", "queries", "answers", "lanes", "duplicates", "lost"), rows)


def _lost(run: Run) -> str:
    return counts(run.lost) if run.lost else str(run.never_heard)


def _costs(done: Sequence[Run]) -> str:
    header = (
        "run", "stored to answer p50/p95/p99 ms", "caller p50/p95/p99 ms", "after slowest lane ms", "queries/s",
        "services CPU ms/query", "of that loop", "nats-server", "caller (another process)",
    )  # fmt: skip
    rows = [
        (
            run.name, run.broker_ms, run.caller_ms, run.after_lane_ms, f"{run.queries / run.seconds:.0f}",
            run.cpu_ms, run.loop_ms, run.server_ms, run.caller_cpu_ms,
        )
        for run in done
    ]  # fmt: skip
    return table(header, rows)


def _owners(run: Run) -> str:
    rows = [(name, f"{share:.1%}", share * run.loop_ms) for name, share in run.owners.items() if share >= _OWNERS_SHOWN]
    return table(("package", "share", "ms/query"), rows)


def _functions(run: Run, most: int) -> str:
    top = [(name, f"{share:.1%}", share * run.loop_ms) for name, share in list(run.functions.items())[:most]]
    whole = [(name, f"{share:.1%}", share * run.loop_ms) for name, share in list(run.inclusive.items())[: 2 * most]]
    return "\n\n".join(
        [
            table(("function alone", "share", "ms/query"), top),
            table(("function with what it calls", "share", "ms/query"), whole),
        ]
    )
