"""What an evaluation leaves behind: the report as two files, and a run file of TREC for every list."""

import re
from collections.abc import Sequence
from pathlib import Path

from fanfuse_evaluation.drawing import picture
from fanfuse_evaluation.figures import CollectionFigures
from fanfuse_evaluation.measures import NDCG
from fanfuse_evaluation.page import html
from fanfuse_evaluation.plots import draw
from fanfuse_evaluation.report import markdown, sections
from fanfuse_evaluation.summary import Summary
from fanfuse_evaluation.trec import write_run

_NOT_NAME = re.compile(r"[^a-z0-9]+")


def write_report(
    folder: Path, figures: Sequence[CollectionFigures], summary: Summary, title: str, how: Sequence[str]
) -> None:
    """report.md with its pictures, and report.html, which needs no other file."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for number, (heading, lines) in enumerate(sections(figures, summary)):
        pictures.append(f"plot-{number}.svg")
        plot = draw(lines, NDCG, f"{heading}: {NDCG}, mean and 95 % interval")
        (folder / pictures[-1]).write_text(picture(plot), encoding="utf-8")
    (folder / "report.md").write_text(markdown(figures, summary, title, how, pictures), encoding="utf-8")
    (folder / "report.html").write_text(html(figures, summary, title, how), encoding="utf-8")


def write_runs(folder: Path, figures: Sequence[CollectionFigures]) -> list[Path]:
    """`<collection>.<list>.trec` for every list of every collection."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for one in figures:
        for ranked in one.ranked:
            tag = _NOT_NAME.sub("-", ranked.name.lower()).strip("-")
            written.append(folder / f"{one.name}.{tag}.trec")
            write_run(written[-1], tag, zip(one.queries, ranked.lists, strict=True))
    return written
