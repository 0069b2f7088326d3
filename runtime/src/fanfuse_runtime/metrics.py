"""Prometheus metrics of one process, made from the specifications in contracts.

In: a spec and label values. Out: samples in an injected registry. A label value outside its closed set is an error, so
cardinality stays bounded.
"""

from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.metrics import MetricWrapperBase

from fanfuse_contracts.metrics import METRICS, SECONDS_BUCKETS, MetricKind, MetricSpec

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Every metric of the contract, pre-created at zero."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._collectors = {spec.name: self._build(spec) for spec in METRICS}
        self._children: dict[tuple[str, ...], MetricWrapperBase] = {}

    def _build(self, spec: MetricSpec) -> MetricWrapperBase:
        names = [label for label, _ in spec.labels]
        collector: MetricWrapperBase
        match spec.kind:
            case MetricKind.COUNTER:
                collector = Counter(spec.name, spec.help, names, registry=self.registry)
            case MetricKind.GAUGE:
                collector = Gauge(spec.name, spec.help, names, registry=self.registry)
            case MetricKind.HISTOGRAM:
                collector = Histogram(spec.name, spec.help, names, registry=self.registry, buckets=SECONDS_BUCKETS)
        closed = [values for _, values in spec.labels if values is not None]
        if names and len(closed) == len(names):
            for values in product(*closed):
                collector.labels(*values)
        return collector

    def _child(self, spec: MetricSpec, labels: dict[str, str]) -> MetricWrapperBase:
        key = (spec.name, *labels.values())
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._checked_child(spec, labels)
        return child

    def _checked_child(self, spec: MetricSpec, labels: dict[str, str]) -> MetricWrapperBase:
        for label, values in spec.labels:
            if values is not None and labels[label] not in values:
                raise ValueError(f"{spec.name}: {label}={labels[label]!r} is not in its closed set")
        collector = self._collectors[spec.name]
        return collector.labels(*(labels[label] for label, _ in spec.labels)) if spec.labels else collector

    def inc(self, spec: MetricSpec, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        child = self._child(spec, labels)
        assert isinstance(child, Counter)
        child.inc(amount)

    def observe(self, spec: MetricSpec, seconds: float, **labels: str) -> None:
        """Add one observation, in seconds, to a histogram."""
        child = self._child(spec, labels)
        assert isinstance(child, Histogram)
        child.observe(seconds)

    def set(self, spec: MetricSpec, value: float, **labels: str) -> None:
        """Set a gauge."""
        child = self._child(spec, labels)
        assert isinstance(child, Gauge)
        child.set(value)

    def exposition(self) -> bytes:
        """The text format that Prometheus scrapes."""
        return generate_latest(self.registry)
