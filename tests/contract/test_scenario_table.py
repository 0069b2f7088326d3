"""docs/scenarios.md says which test covers which failure scenario; nothing in it may be out of date."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ID = re.compile(r"\b[A-Z]{3}-\d{2}\b")
AREAS = {"FUS", "TEN", "CLS", "ELA", "QDR", "NEO", "NAT", "JOI", "HEA", "OBS", "CFG", "ING", "DEP"}


class Row(NamedTuple):
    scenario: str
    files: tuple[str, ...]
    left_to: str


@pytest.fixture(scope="module")
def rows(repository: Path) -> list[Row]:
    lines = (repository / "docs/scenarios.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if ID.match(line[2:])]
    return [Row(scenario, tuple(re.findall(r"`([^`]+)`", files)), left_to) for scenario, _, files, left_to in cells]


def test_every_scenario_is_covered_or_left_to_an_issue(rows: list[Row]) -> None:
    assert len({row.scenario for row in rows}) == len(rows) == 53
    assert [row.scenario for row in rows if not row.files and not re.match(r"issue \d", row.left_to)] == []


def test_a_file_named_for_a_scenario_speaks_of_it(rows: list[Row], repository: Path) -> None:
    silent = [
        (row.scenario, name)
        for row in rows
        for name in row.files
        if row.scenario not in ID.findall((repository / "tests" / name).read_text(encoding="utf-8"))
    ]
    assert silent == []


def test_a_scenario_that_a_test_speaks_of_stands_in_the_table(rows: list[Row], repository: Path) -> None:
    spoken = {
        scenario
        for path in (repository / "tests").rglob("test_*.py")
        for scenario in ID.findall(path.read_text(encoding="utf-8"))
        if scenario[:3] in AREAS
    }
    assert spoken == {row.scenario for row in rows if row.files}
