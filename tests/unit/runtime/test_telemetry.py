"""Sampling, the ordinary variables, and links: what becomes of a trace that a header brings."""

import time
from secrets import token_hex

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from fanfuse_client.tracing import trace_headers
from fanfuse_contracts.headers import TRACEPARENT, TRACESTATE
from fanfuse_runtime.telemetry import (
    build_tracer_provider,
    extract,
    handling,
    inject,
    link,
    sampled_trace_id,
    shut_down,
    span,
    trace_id,
)

QUERIES = 2_000


class Recorded:
    def __init__(self, sample: float) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = build_tracer_provider("fanfuse", sample, SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def hop(self, headers: dict[str, str], name: str = "hop") -> dict[str, str]:
        """One service: a span under what came, and the headers it sends."""
        with span(self.tracer, name, extract(headers)):
            return inject({})

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()


def test_a_share_of_made_up_traces_is_recorded_in_every_process_or_in_none() -> None:
    """The client made them up, so the first service decides; the others follow it."""
    first, second = Recorded(0.25), Recorded(0.25)
    for _ in range(QUERIES):
        sent = first.hop(trace_headers())
        assert TRACESTATE not in sent or "undecided" not in sent[TRACESTATE]
        second.hop(sent)
    one, two = ({span.context.trace_id for span in each.spans if span.context} for each in (first, second))
    assert one == two
    assert 0.18 * QUERIES < len(one) < 0.32 * QUERIES


@pytest.mark.parametrize(("flags", "recorded"), [("01", 20), ("00", 0)])
def test_an_application_that_traces_decides_for_itself(flags: str, recorded: int) -> None:
    services = Recorded(0.0 if flags == "01" else 1.0)
    for _ in range(20):
        services.hop({TRACEPARENT: f"00-{token_hex(16)}-{token_hex(8)}-{flags}"})
    assert len(services.spans) == recorded


def test_without_a_header_a_share_is_recorded() -> None:
    none, everything = Recorded(0.0), Recorded(1.0)
    none.hop({})
    everything.hop({})
    assert (len(none.spans), len(everything.spans)) == (0, 1)


def test_the_service_name_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "search-fuser")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    recorded = Recorded(1.0)
    recorded.hop({})
    attributes = recorded.spans[0].resource.attributes
    assert attributes["service.name"] == "search-fuser"
    assert attributes["deployment.environment"] == "test"
    monkeypatch.delenv("OTEL_SERVICE_NAME")
    other = Recorded(1.0)
    other.hop({})
    assert other.spans[0].resource.attributes["service.name"] == "fanfuse"


def test_the_sampler_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    recorded = Recorded(1.0)
    recorded.hop({})
    assert recorded.spans == ()


@pytest.mark.parametrize(
    "variables",
    [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
     {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"}],
)  # fmt: skip
def test_nothing_is_recorded_unless_somebody_listens(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert isinstance(build_tracer_provider("fanfuse", 1.0, None), trace.NoOpTracerProvider)


async def test_a_collector_that_is_away_holds_a_stop_up_for_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    provider = build_tracer_provider("fanfuse", 1.0, None)
    assert isinstance(provider, TracerProvider)
    with span(provider.get_tracer("test"), "lost"):
        pass
    began = time.monotonic()
    await shut_down(provider)
    assert time.monotonic() - began < 60.0


def test_an_exception_is_told_by_its_type_only() -> None:
    recorded = Recorded(1.0)
    with pytest.raises(ValueError, match="hunter2"), span(recorded.tracer, "failing"):
        raise ValueError("password=hunter2")
    (failed,) = recorded.spans
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, "ValueError")
    assert failed.events == ()


def test_a_span_is_linked_to_the_one_of_a_header() -> None:
    recorded = Recorded(1.0)
    worker = recorded.hop({}, "worker")
    with span(recorded.tracer, "join") as join:
        link(join, worker[TRACEPARENT], {"rag.lane.kind": "vector"})
        for bad in ("", "garbage", f"00-{'0' * 32}-{'0' * 16}-01"):
            link(join, bad, None)
    (first, joined) = recorded.spans
    assert first.context is not None
    assert [(each.context.span_id, dict(each.attributes or {})) for each in joined.links] == [
        (first.context.span_id, {"rag.lane.kind": "vector"})
    ]


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WHOLE = {TRACEPARENT: PARENT, TRACESTATE: "fanfuse=undecided"}
UNSAID = trace.NoOpTracerProvider().get_tracer("test")


@pytest.mark.parametrize(
    ("came", "sent"),
    [
        (
            {TRACEPARENT: PARENT, TRACESTATE: "fanfuse=undecided"},
            {TRACEPARENT: PARENT, TRACESTATE: "fanfuse=undecided"},
        ),
        ({TRACEPARENT: PARENT, TRACESTATE: "a=" + "b" * 600}, {TRACEPARENT: PARENT}),
        ({TRACEPARENT: PARENT + "-more", TRACESTATE: "a=b"}, {}),
        ({TRACEPARENT: PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32)}, {}),
        ({TRACEPARENT: f"ff{PARENT[2:]}"}, {}),
        ({"Fanfuse-Principal": "token"}, {}),
    ],
)
def test_where_nothing_is_recorded_the_headers_are_handed_on(came: dict[str, str], sent: dict[str, str]) -> None:
    kind = trace.SpanKind.CONSUMER
    with handling(UNSAID, "outer", came, kind), span(UNSAID, "inner") as current:
        assert inject({}) == sent
        assert trace_id() == (PARENT.split("-")[1] if sent else None)
        assert sampled_trace_id() is None
        assert not current.is_recording()
        with handling(UNSAID, "another", {}, kind):
            assert inject({}) == {}
    assert inject({}) == {}


def test_what_leads_to_no_span_carries_only_a_trace_that_is_recorded_here() -> None:
    kind, recorded = trace.SpanKind.CONSUMER, Recorded(1.0)
    with handling(UNSAID, "hop", WHOLE, kind):
        assert inject({"Own": "1"}, hand_on=False) == {"Own": "1"}
    with handling(recorded.tracer, "hop", WHOLE, kind):
        assert TRACEPARENT in inject({}, hand_on=False)


def test_what_is_recorded_has_the_id_that_came() -> None:
    recorded = Recorded(1.0)
    with handling(recorded.tracer, "hop", {TRACEPARENT: PARENT}, trace.SpanKind.CONSUMER):
        assert inject({})[TRACEPARENT].split("-")[1] == trace_id() == sampled_trace_id() == PARENT.split("-")[1]
    assert [each.name for each in recorded.spans] == ["hop"]
