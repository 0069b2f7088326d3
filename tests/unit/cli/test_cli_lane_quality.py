"""The table of `fanfuse status` that says what each lane is worth."""

from io import StringIO

from rich.console import Console

from fanfuse_all_in_one.quality import CorpusQuality
from fanfuse_cli.lane_quality import quality_as_dict, quality_table
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.quality import LaneQuality

VECTOR = LaneQuality(kind=Kind.VECTOR, backend="main", answers=9, lost=1, compared=40, found=30, alone=12, seats=2)
GRAPH = LaneQuality(kind=Kind.GRAPH, backend="main", answers=10)
FOUND = CorpusQuality("acme", "docs", (VECTOR, GRAPH))


def printed(*found: CorpusQuality) -> list[str]:
    console = Console(width=120, record=True, file=StringIO())
    console.print(quality_table(found))
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_each_backend_of_a_corpus_has_its_price() -> None:
    lines = printed(FOUND)
    assert "acme/docs vector/main 9 1 30% 60% 2" in lines
    assert "acme/docs graph/main 10 0 0" in lines


def test_without_answers_it_says_so() -> None:
    assert printed()[0].startswith("no answer in the last quarter of an hour")


def test_json_has_counts_and_shares() -> None:
    vector, graph = quality_as_dict(FOUND)["lanes"]
    assert (vector["found_alone"], vector["agreement"], vector["alone"]) == (0.3, 0.6, 12)
    assert graph["found_alone"] is None
