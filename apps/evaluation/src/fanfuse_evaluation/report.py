"""The report as Markdown. In: figures and their summary. Out: text that needs no other file. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from fanfuse_evaluation.bootstrap import Interval
from fanfuse_evaluation.figures import CollectionFigures
from fanfuse_evaluation.measures import MEASURES, NDCG
from fanfuse_evaluation.summary import Line, Summary, best_lane

LOST_SHOWN: Final = 10


def markdown(
    figures: Sequence[CollectionFigures],
    summary: Summary,
    title: str,
    how: Sequence[str],
    pictures: Sequence[str] = (),
) -> str:
    """The whole report; `how`: lines that say how it was made. `pictures`: files, one for each section."""
    parts = [f"# {title}", "\n".join(f"- {line}" for line in (*how, *remarks(figures, summary)))]
    for number, (heading, lines) in enumerate(sections(figures, summary)):
        parts += [f"## {heading}", table(header(summary), map(cells, lines))]
        parts += [f"![{NDCG}: {heading}]({file})" for file in pictures[number : number + 1]]
    return "\n\n".join(parts) + "\n"


def sections(figures: Sequence[CollectionFigures], summary: Summary) -> Iterator[tuple[str, Sequence[Line]]]:
    """Headings with their lines: over all first, where there are several collections."""
    if summary.overall:
        yield f"mean of {len(figures)} collections", summary.overall
    for one in figures:
        yield f"{one.name}: {len(one.queries)} queries", summary.collections[one.name]


def header(summary: Summary) -> tuple[str, ...]:
    """The names of the columns."""
    return ("", *MEASURES, f"{NDCG} less {summary.baseline}, 95 % interval")


def cells(line: Line) -> tuple[str, ...]:
    """A line of a table."""
    told = line.differences.get(NDCG)
    return (line.name, *(f"{line.means[name].mean:.4f}" for name in MEASURES), _signed(told) if told else "")


def remarks(figures: Sequence[CollectionFigures], summary: Summary) -> Iterator[str]:
    """What a reader must know beside the tables: what was not answered, what differs, how it compares."""
    for one in figures:
        if one.places is not None:
            yield f"{one.name}: {_counted(one.statuses)}; {_compared(one)}"
        for what, count in list(one.lost.items())[:LOST_SHOWN]:
            yield f"{one.name}: {count} × {what}"
    yield from _against_lanes(figures, summary)


def _against_lanes(figures: Sequence[CollectionFigures], summary: Summary) -> Iterator[str]:
    for heading, lines in sections(figures, summary):
        best = best_lane(lines, NDCG)
        if best is not None:
            mean, low, high = best.differences[NDCG]
            missing = lines is summary.overall and best.collections < len(figures)
            where = f", in {best.collections} of {len(figures)} collections" if missing else ""
            less = _signed(Interval(-mean, -high, -low))
            yield f"{heading}: {NDCG} of {summary.baseline} less that of the best lane, {best.name}{where}: {less}"


def _compared(one: CollectionFigures) -> str:
    assert one.places is not None
    compared, order, score = one.places
    return f"fused again offline: {order} differences of order and {score} of score in {compared} places"


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in lines)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _signed(one: Interval) -> str:
    mean, low, high = (round(value, 4) + 0.0 for value in one)  # no minus before zero
    return f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
