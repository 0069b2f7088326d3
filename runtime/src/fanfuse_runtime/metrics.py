"""Prometheus metrics of one process, made from the specifications in contracts.

In: a spec and label values. Out: samples in an injected registry, with the trace id as exemplar where the current trace
is recorded. A value outside a closed label set is an error, one beyond the bound of an open set is counted as `other`:
the number of series depends on what is wired and configured, never on what is asked.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics import MetricWrapperBase

from fanfuse_contracts.metrics import METRICS, OTHER, SECONDS_BUCKETS, MetricKind, MetricSpec, Open
from fanfuse_contracts.metrics_config import MetricsConfig
from fanfuse_runtime.telemetry import sampled_trace_id

disable_created_metrics()  # type: ignore[no-untyped-call]

_NO_CONFIG = MetricsConfig()


class Metrics:
    """Every metric of the contract; what is closed or configured is pre-created at zero."""

    def __init__(self, config: MetricsConfig = _NO_CONFIG) -> None:
        self.registry = CollectorRegistry()
        self._class_of = config.class_of()
        self._open: dict[Open, dict[str, None]] = {
            Open.TENANT_CLASS: dict.fromkeys(config.tenant_classes),
            Open.CORPUS: dict.fromkeys(config.corpora),
            Open.BACKEND: {},
            Open.CONSUMER: {},
        }
        self._collectors = {spec.name: self._build(spec) for spec in METRICS}
        self._children: dict[tuple[str, ...], MetricWrapperBase] = {}
        """By name, labels as they are given, and their values."""

    # -- labels -------------------------------------------------------------------------------------------------

    def class_of(self, tenant: str) -> str:
        """The configured class of a tenant, else `other`."""
        return self._class_of.get(tenant, OTHER)

    def _known(self, values: Sequence[str] | Open) -> Sequence[str] | None:
        """The values that a label has from the start; None where they come as they are wired."""
        if not isinstance(values, Open):
            return values
        return (*self._open[values], OTHER) if values.is_configured else None

    def _value(self, spec: MetricSpec, label: str, values: Sequence[str] | Open, value: str) -> str:
        if not isinstance(values, Open):
            if value not in values:
                raise ValueError(f"{spec.name}: {label}={value!r} is not in its closed set")
            return value
        known = self._open[values]
        if value in known:
            return value
        if values.is_configured or len(known) >= values.most:
            return OTHER
        known[value] = None
        return value

    # -- series -------------------------------------------------------------------------------------------------

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
        known = [self._known(values) for _, values in spec.labels]
        if names and None not in known:
            for values in product(*(each for each in known if each is not None)):
                collector.labels(*values)
        return collector

    def prepare(self, spec: MetricSpec, **wired: str) -> None:
        """Pre-create at zero what a newly wired backend or consumer can count; its other labels are closed."""
        sets = [(wired[label],) if label in wired else self._known(values) or () for label, values in spec.labels]
        for values in product(*sets):
            self._child(spec, dict(zip((label for label, _ in spec.labels), values, strict=True)))

    def _child(self, spec: MetricSpec, labels: Mapping[str, str]) -> MetricWrapperBase:
        if not spec.labels:
            return self._collectors[spec.name]
        key = (spec.name, *labels, *labels.values())
        child = self._children.get(key)
        if child is None:
            values = [self._value(spec, label, allowed, labels[label]) for label, allowed in spec.labels]
            child = self._collectors[spec.name].labels(*values)
            if all(value in labels.values() for value in values):  # what counts as `other` is without end
                self._children[key] = child
        return child

    # -- samples ------------------------------------------------------------------------------------------------

    def inc(self, spec: MetricSpec, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        child = self._child(spec, labels)
        assert isinstance(child, Counter)
        child.inc(amount, exemplar=_exemplar())

    def observe(self, spec: MetricSpec, seconds: float, **labels: str) -> None:
        """Add one observation, in seconds, to a histogram."""
        child = self._child(spec, labels)
        assert isinstance(child, Histogram)
        child.observe(seconds, exemplar=_exemplar())

    def set(self, spec: MetricSpec, value: float, **labels: str) -> None:
        """Set a gauge."""
        child = self._child(spec, labels)
        assert isinstance(child, Gauge)
        child.set(value)

    def replace(self, spec: MetricSpec, values: Mapping[tuple[str, ...], float]) -> None:
        """Set a gauge for these label values, and drop its series for all others."""
        self._collectors[spec.name].clear()
        for key in [key for key in self._children if key[0] == spec.name]:
            del self._children[key]
        names = [label for label, _ in spec.labels]
        for labels, value in values.items():
            self.set(spec, value, **dict(zip(names, labels, strict=True)))

    def follow(self, spec: MetricSpec, read: Callable[[], float]) -> None:
        """Ask `read` for the value of an unlabelled gauge at every scrape."""
        child = self._child(spec, {})
        assert isinstance(child, Gauge)
        child.set_function(read)

    def exposition(self) -> bytes:
        """The plain text format."""
        return generate_latest(self.registry)

    def scrape(self, accept: str) -> tuple[bytes, str]:
        """Body and content type: OpenMetrics, which carries exemplars, where `accept` asks for it, else plain text."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


def _exemplar() -> dict[str, str] | None:
    sampled = sampled_trace_id()
    return {"trace_id": sampled} if sampled is not None else None
