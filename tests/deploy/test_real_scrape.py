"""A real Prometheus scrapes a running flow through every trouble: no panel is empty, and every rule has its moment.

OBS-02. The scenario takes a minute and a half and is run once for all tests here.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.deploy.pictures import draw
from tests.deploy.scenario import watched_scenario
from tests.deploy.shipped import Rule, filled, panel_queries, rules
from tests.servers.maven import MissingServerError
from tests.servers.prometheus import Prometheus, binary

pytestmark = [pytest.mark.nightly, pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True, slots=True)
class Watched:
    """What Prometheus saw."""

    prometheus: Prometheus
    began: float
    ended: float

    def largest(self, expr: str) -> float | None:
        """The largest value an expression had at any second; None: it never had one."""
        series = self.prometheus.query_range(expr, self.began, self.ended, 1.0)
        values = [float(value) for each in series for _, value in each["values"]]
        return max((value for value in values if not math.isnan(value)), default=None)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def watched(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Watched]:
    try:
        binary("prometheus")
    except MissingServerError as error:
        pytest.skip(str(error))
    began = time.time()
    async with watched_scenario(tmp_path_factory.mktemp("watched")) as scenario:
        await scenario.run()
        await scenario.flow.process.stop()  # what a dashboard shows when everything is gone
        await asyncio.sleep(4.0)
        yield Watched(scenario.prometheus, began, time.time())


async def test_no_panel_is_empty(watched: Watched, say: Callable[[str], None]) -> None:
    """Each query of each panel has a value that is not zero in the moment it is for."""
    empty, seen = [], 0
    for query in panel_queries():
        for backend in ("main",) if "$backend" in query.expr or "$kind" in query.expr else ("",):
            found = watched.largest(filled(query.expr, kind="vector", backend=backend))
            seen += 1
            if not found:
                empty.append(f"{query.name} [{query.legend}]: {found}")
    say(f"{seen} queries of panels on a real Prometheus: {len(empty)} empty")
    assert empty == []


@pytest.mark.parametrize("rule", [rule for rule in rules() if not rule.alert], ids=lambda rule: rule.name)
async def test_every_recording_rule_records(watched: Watched, rule: Rule) -> None:
    assert watched.largest(rule.name)


@pytest.mark.parametrize("rule", [rule for rule in rules() if rule.alert], ids=lambda rule: rule.name)
async def test_every_alert_has_its_moment(watched: Watched, rule: Rule) -> None:
    """Its condition was met, and Prometheus held it as pending or firing (with its duration, unit tests fire it)."""
    assert watched.largest(f'ALERTS{{alertname="{rule.name}"}}') == 1.0


async def test_an_exemplar_is_the_trace_of_an_answer(watched: Watched) -> None:
    found = watched.prometheus.exemplars("fanfuse_answer_seconds_bucket", watched.began, watched.ended)
    ids = [exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]]
    assert ids
    assert all(len(each) == 32 for each in ids)


async def test_tenants_outside_the_classes_are_other(watched: Watched) -> None:
    def values(label: str, metric: str) -> set[str]:
        return set(watched.prometheus.label_values(label, metric))

    assert values("tenant_class", "fanfuse_queries_total") == {"paying", "other"}
    assert values("corpus", "fanfuse_corpus_answers_total") == {"acme/docs", "other"}


async def test_pictures_of_every_panel(watched: Watched, tmp_path: Any) -> None:
    """Drawn from the real data where matplotlib is installed; FANFUSE_PICTURES names a folder to keep them in."""
    pytest.importorskip("matplotlib", reason="no pictures of the dashboards here: matplotlib is not installed")
    drawn = draw(watched.prometheus, watched.began, watched.ended, tmp_path)
    assert {path.name for path in drawn} == {"operator.png", "backend.png"}
    assert all(path.stat().st_size > 50_000 for path in drawn)
