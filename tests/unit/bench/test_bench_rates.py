"""Latency at steady rates: what stands in the table and in the picture."""

from typing import Any

import pytest


@pytest.fixture(scope="module")
def rates(bench_module):
    return bench_module("rates")


@pytest.fixture(scope="module")
def run(bench_module):
    def build(name: str, after_ms: float):
        figures = bench_module("figures")
        spread = figures.spread([after_ms])
        fields: dict[str, Any] = dict.fromkeys(bench_module("runs").Run.__dataclass_fields__, 0.0)
        fields |= {"name": name, "statuses": {"complete": 5}, "broker_ms": spread, "after_lane_ms": spread}
        return bench_module("runs").Run(**fields | {"caller_ms": spread, "cpu_ms": 2.0})

    return build


def test_each_rate_has_a_row_of_the_flow_and_one_of_the_floor(rates, run):
    found = [rates.AtRate(rate, run("flow", 4.0 * rate), run("floor", rate)) for rate in (1.0, 20.0)]

    lines = rates.report(found).splitlines()

    assert lines[2].startswith("| 1 | flow | 5 complete | 4.0 / 4.0 / 4.0 | 4.0 / 4.0 / 4.0 |")
    assert lines[5].startswith("| 20 | floor | 5 complete | 20.0 / 20.0 / 20.0 | – |")
    assert rates.picture(found).count("<circle") == 12
