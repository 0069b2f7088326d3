"""Runs of others, judged like lists of ours. In: run files and judgements. Out: figures of one collection.

A judged query that a run lacks counts as zero; a query of a run that nobody judged is left out, and counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fanfuse_evaluation.figures import CollectionFigures, Ranked, Role
from fanfuse_evaluation.trec import Run, RunError, read_run


def judge_runs(paths: Sequence[Path], judgements: Mapping[str, Mapping[str, int]], name: str) -> CollectionFigures:
    """Figures of run files; the first is what the others are compared with. Raises `RunError`."""
    names = [path.name for path in paths]
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise RunError(f"{twice[0]}: two runs have this name, which is that of their rows")
    runs = {path.name: _judged(path, judgements) for path in paths}
    ranked = [
        Ranked(title, Role.RUN, tuple([document for document, _ in run.get(query, ())] for query in judgements))
        for title, run in runs.items()
    ]
    return CollectionFigures(
        name=name,
        grades=tuple(judgements.values()),
        queries=tuple(judgements),
        ranked=tuple(ranked),
        statuses={},
        lost=dict(_lacks(runs, judgements)),
    )


def _judged(path: Path, judgements: Mapping[str, Mapping[str, int]]) -> Run:
    run = read_run(path)
    if not run.keys() & judgements.keys():
        raise RunError(f"{path}: no query of it is judged, such as {next(iter(run))!r}")
    return run


def _lacks(runs: Mapping[str, Run], judgements: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, int]]:
    for name, run in runs.items():
        if missing := len(judgements.keys() - run.keys()):
            yield f"a judged query without a list in {name}: counted as zero", missing
        if unjudged := len(run.keys() - judgements.keys()):
            yield f"a query of {name} that nobody judged: left out", unjudged
