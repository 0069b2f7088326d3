"""What each lane of a corpus contributed to answers, as a table. In: sums per corpus. Out: something to print."""

from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from fanfuse_all_in_one.quality import CorpusQuality

_HEAD = ("corpus", "backend", "answers", "lost", "found alone", "agreement", "reserved seats")


def quality_table(found: "tuple[CorpusQuality, ...]") -> RenderableType:
    """One row per corpus and backend; `found alone` is what answers lose without it."""
    if not found:
        return "no answer in the last quarter of an hour whose lanes could be compared"
    table = Table(
        *_HEAD,
        box=None,
        pad_edge=False,
        title="lanes in the answers of the last quarter of an hour",
        title_justify="left",
    )
    for corpus in found:
        for lane in corpus.lanes:
            name = f"{corpus.tenant}/{corpus.corpus}"
            shares = (_share(lane.price), _share(lane.agreement))
            counts = (str(lane.answers), str(lane.lost))
            table.add_row(escape(name), f"{lane.kind.value}/{lane.backend}", *counts, *shares, str(lane.seats))
    return table


def quality_as_dict(found: "CorpusQuality") -> dict[str, Any]:
    """The same for --json: counts, with the two shares worked out."""
    lanes = [
        lane.model_dump(mode="json") | {"found_alone": lane.price, "agreement": lane.agreement} for lane in found.lanes
    ]
    return {"tenant": found.tenant, "corpus": found.corpus, "lanes": lanes}


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"
