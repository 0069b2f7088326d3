"""The metrics as such: buckets that tell latencies apart, and a registry that importing twice does not touch."""

import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

from fanfuse_contracts import limits, metrics
from fanfuse_contracts.metrics import MetricKind
from fanfuse_runtime.metrics import Metrics


def test_latencies_fall_into_different_buckets() -> None:
    """OBS-03: 2 ms, 20 ms, 200 ms, 2 s and 9 s are told apart, and buckets reach past the longest budget."""
    own = Metrics()
    for seconds in (0.002, 0.02, 0.2, 2.0, 9.0):
        own.observe(metrics.LANE_SECONDS, seconds, kind="vector", backend="main", outcome="answered")
    counts = [
        sample.value
        for family in text_string_to_metric_families(own.exposition().decode())
        for sample in family.samples
        if sample.name == "fanfuse_lane_seconds_bucket"
        and (sample.labels["kind"], sample.labels["outcome"]) == ("vector", "answered")
    ]
    assert len(counts) == len(metrics.SECONDS_BUCKETS) + 1
    filled = [after - before for before, after in zip([0.0, *counts], counts, strict=False) if after > before]
    assert filled == [1.0] * 5
    assert counts[-1] == counts[-2]
    assert max(metrics.SECONDS_BUCKETS) * 1e3 >= limits.MAX_BUDGET_MS
    assert all(spec.name.endswith("_seconds") for spec in metrics.METRICS if spec.kind is MetricKind.HISTOGRAM)


_IMPORT_TWICE = """
import importlib, sys
from fanfuse_all_in_one.services import FACTORIES
for _ in range(2):
    ends = (".service", ".metrics", ".bus")
    for name in sorted(n for n in sys.modules if n.startswith("fanfuse_") and n.endswith(ends)):
        importlib.reload(sys.modules[name])
from fanfuse_runtime.metrics import Metrics
assert len(FACTORIES) == 5
print(len(Metrics().exposition()) == len(Metrics().exposition()))
"""


def test_importing_every_service_twice_does_not_collide() -> None:
    """OBS-04: the registry is injected, nothing is registered at import."""
    done = subprocess.run([sys.executable, "-c", _IMPORT_TWICE], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr[-1_000:]
