"""Metrics are bounded: what is not configured or wired is counted as `other`; exemplars are the current trace."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import format_trace_id
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from fanfuse_contracts import limits, metrics
from fanfuse_contracts.metrics import METRICS, MetricSpec
from fanfuse_contracts.metrics_config import MetricsConfig
from fanfuse_runtime.metrics import Metrics
from fanfuse_testing.samples import counted

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
CONFIG = MetricsConfig(corpora=("acme/docs",), tenant_classes={"paying": ("acme", "globex"), "free": ("initech",)})


def series(own: Metrics) -> int:
    return sum(len(family.samples) for family in own.registry.collect())


def test_every_label_set_that_is_known_stands_at_zero() -> None:
    """OBS-02: closed and configured sets from the start, those of backends when they are wired."""
    own = Metrics(CONFIG)
    for tenant_class in ("paying", "free", "other"):
        assert counted(own.registry, "fanfuse_bm25_fallback_total", reason="degraded", tenant_class=tenant_class) == 0
    assert counted(own.registry, "fanfuse_corpus_answers_total", corpus="acme/docs", outcome="lost") == 0
    with pytest.raises(LookupError):
        counted(own.registry, "fanfuse_join_lanes_total")
    own.prepare(metrics.JOIN_LANES, kind="vector", backend="main")
    assert counted(own.registry, "fanfuse_join_lanes_total", backend="main", outcome="late") == 0


def test_tenants_and_corpora_that_nobody_named_are_other() -> None:
    own = Metrics(CONFIG)
    before = series(own)
    for number in range(1_000):
        tenant = f"tenant-{number}"
        own.inc(metrics.QUERIES_TOTAL, status="complete", tenant_class=own.class_of(tenant))
        own.inc(metrics.CORPUS_ANSWERS_TOTAL, corpus=metrics.corpus_name(tenant, "docs"), outcome="answered")
    own.inc(metrics.QUERIES_TOTAL, status="complete", tenant_class=own.class_of("globex"))
    assert series(own) == before
    assert counted(own.registry, "fanfuse_queries_total", tenant_class="other") == 1_000
    assert counted(own.registry, "fanfuse_queries_total", tenant_class="paying") == 1
    assert counted(own.registry, "fanfuse_corpus_answers_total", corpus="other") == 1_000


def test_backends_beyond_the_bound_are_other() -> None:
    own = Metrics()
    for number in range(limits.METRICS_MAX_BACKENDS + 20):
        own.inc(metrics.JOIN_LANES, kind="vector", backend=f"b{number}", outcome="answered")
    assert counted(own.registry, "fanfuse_join_lanes_total", backend="other") == 20


def test_a_value_outside_its_closed_set_is_an_error() -> None:
    with pytest.raises(ValueError, match="not in its closed set"):
        Metrics().inc(metrics.QUERIES_TOTAL, status="an error text", tenant_class="other")


def test_a_gauge_is_replaced_whole() -> None:
    own = Metrics()
    own.replace(metrics.CONSUMER_PENDING, {("fuser",): 3, ("classifier",): 1})
    own.replace(metrics.CONSUMER_PENDING, {("fuser",): 2})
    assert own.registry.get_sample_value("fanfuse_consumer_pending", {"consumer": "fuser"}) == 2
    assert own.registry.get_sample_value("fanfuse_consumer_pending", {"consumer": "classifier"}) is None


def test_a_gauge_is_read_when_it_is_scraped() -> None:
    own, value = Metrics(), 1.0
    own.follow(metrics.READY, lambda: value)
    value = 0.0
    assert own.registry.get_sample_value("fanfuse_ready") == 0.0


def test_exemplars_are_told_to_who_asks_for_open_metrics() -> None:
    own, tracer = Metrics(), TracerProvider().get_tracer("test")
    with tracer.start_as_current_span("query") as span:
        own.observe(metrics.ANSWER_SECONDS, 0.02)
        own.inc(metrics.QUERIES_TOTAL, status="complete", tenant_class="other")
    own.observe(metrics.ANSWER_SECONDS, 2.0)
    body, content_type = own.scrape(OPEN_METRICS)
    assert content_type.startswith("application/openmetrics-text")
    found = [
        (sample.name, sample.exemplar.labels["trace_id"])
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.exemplar
    ]
    trace_id = format_trace_id(span.get_span_context().trace_id)
    assert sorted(found) == [("fanfuse_answer_seconds_bucket", trace_id), ("fanfuse_queries_total", trace_id)]
    body, content_type = own.scrape("text/plain")
    assert content_type.startswith("text/plain")
    assert trace_id not in body.decode()


@pytest.mark.parametrize("spec", METRICS, ids=lambda spec: spec.name)
def test_no_label_can_hold_what_callers_write(spec: MetricSpec) -> None:
    """Labels come from the contract, the configuration and the registry only."""
    allowed = {
        "status", "tenant_class", "code", "reason", "corpus", "outcome", "kind", "backend", "failure", "found", "pair",
        "stage", "consumer",
    }  # fmt: skip
    assert {label for label, _ in spec.labels} <= allowed


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"tenant_classes": {"other": ["acme"]}}, "name another"),
        ({"tenant_classes": {"a": ["acme"], "b": ["acme"]}}, "in two classes"),
        ({"corpora": ["docs"]}, "write <tenant>/<corpus>"),
        ({"corpora": ["acme/docs", "acme/docs"]}, "stands twice"),
        ({"corpora": [f"acme/c{n}" for n in range(51)]}, "at most 50"),
        ({"tenant_classes": {f"c{n}": [f"t{n}"] for n in range(17)}}, "at most 16"),
    ],
)
def test_the_configuration_is_bounded(section: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MetricsConfig.model_validate(section)
