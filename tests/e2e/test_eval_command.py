"""`fanfuse eval` as a person types it: a flow of its own that ends with the command, reports, and the same offline."""

import json
from pathlib import Path

import pytest

from fanfuse_testing.collections import collection_folder
from tests.e2e.conftest import Installation


def figures(report: str) -> dict[str, list[str]]:
    """Cells by the name of the row, without the column of differences."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:4] for row in rows}


def first_queries(folder: Path, target: Path, count: int) -> Path:
    """The same documents with the first judged queries."""
    target.mkdir(parents=True)
    (target / "corpus.jsonl").symlink_to(folder / "corpus.jsonl")
    queries = (folder / "queries.jsonl").read_text().splitlines(keepends=True)[:count]
    kept = {str(json.loads(line)["_id"]) for line in queries}
    header, *rows = (folder / "qrels.tsv").read_text().splitlines(keepends=True)
    (target / "queries.jsonl").write_text("".join(queries))
    (target / "qrels.tsv").write_text(header + "".join(row for row in rows if row.partition("\t")[0] in kept))
    return target


@pytest.mark.slow
def test_cranfield_through_the_bus_and_offline(shared: Path, tmp_path: Path) -> None:
    home = Installation(tmp_path / "home" / "data")
    folder = first_queries(collection_folder("cranfield", shared, tmp_path), tmp_path / "some/cranfield", 60)
    vectors = shared / "data/vectors/cranfield.npz"
    try:
        lanes, report = tmp_path / "lanes.jsonl", tmp_path / "report"
        online = home.must(
            "eval", str(folder), "--vectors", str(vectors), "--save-lanes", str(lanes), "--report", str(report)
        )
        offline = home.must("eval", "--offline", str(lanes))
    finally:
        home.stop()

    assert "60 complete; fused again offline: 0 differences of order and 0 of score in 6000 places" in online
    assert figures(online) == figures(offline)
    means = {name: float(cells[0]) for name, cells in figures(online).items() if cells[0][:1].isdigit()}
    assert means["answer (minmax, 1 seat)"] >= max(means["keyword/main"], means["vector/main"]) > 0.3
    assert figures((report / "report.md").read_text()) == figures(online)
    assert (report / "report.html").is_file()
    assert not (home.data / "bus.json").exists()
    assert len(json.loads(lanes.read_text().splitlines()[0])["lists"]) >= 2
