"""The sizing guide: Little's law by hand, and docs/sizing.md as computed from deploy/sizing.json."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ENGINE_MS = 50.0


@pytest.fixture(scope="module")
def sizing(bench_module: Callable[[str], ModuleType]) -> ModuleType:
    return bench_module("sizing_report")


@pytest.fixture
def measured(sizing: ModuleType, repository: Path):
    return sizing.Measured.from_json((repository / "deploy/sizing.json").read_text())


def test_the_guide_shows_what_is_computed_from_the_measured_figures(sizing, measured, repository: Path) -> None:
    """If this fails: `bench/run.py sizing --from deploy/sizing.json --page docs/sizing.md`."""
    page = (repository / "docs/sizing.md").read_text()
    assert sizing.fill(page, measured, ENGINE_MS) == page
    assert measured.complete == measured.queries


def test_little_s_law_and_cpu_decide_whichever_is_more(sizing, measured) -> None:
    """100 queries/s with searches of 500 ms hold 50 lanes: 50 / (16 slots x 0.6) is 5.2, so six workers."""
    slow = sizing.need(measured, "backend-workers", 100, 500.0)
    assert (slow.in_flight, slow.by_slots, slow.replicas) == (50.0, 6, 6)
    fuser = measured.stages["fuser"]
    costly = dataclasses.replace(
        measured, stages={**measured.stages, "fuser": dataclasses.replace(fuser, cpu_ms_per_query=30.0)}
    )
    assert sizing.need(costly, "fuser", 100, 50.0).replicas == 5, "3 cores of work at 60 % each"
    assert sizing.need(measured, "fuser", 1, 50.0).replicas == 2, "one may go"


def test_a_stream_that_would_outgrow_its_limit_says_how_long_it_reaches(sizing, measured) -> None:
    fat = dataclasses.replace(measured, bytes_per_query={**measured.bytes_per_query, "RETRIEVED": 100_000.0})
    (row,) = (line for line in sizing.stream_table(fat).splitlines() if line.startswith("| RETRIEVED "))
    assert "512 (its limit: 5 s)" in row


def test_the_store_is_that_of_the_manifests(sizing, repository: Path) -> None:
    assert "max_file_store: 10GB" in (repository / "deploy/k8s/base/nats/nats.conf").read_text()
    assert sizing.FILE_STORE == 10 * 1024**3


def test_a_page_without_a_place_is_refused(sizing, measured) -> None:
    with pytest.raises(ValueError, match="no place for costs"):
        sizing.fill("# Sizing", measured, ENGINE_MS)
