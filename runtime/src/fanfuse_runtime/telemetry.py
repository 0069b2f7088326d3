"""One OpenTelemetry trace per query, through NATS headers (W3C trace context).

Spans are recorded when OTEL_EXPORTER_OTLP_ENDPOINT (or the traces variant) is set, or a test gives a processor;
otherwise only the context travels. Span names hold no id. A missing or malformed header starts a new trace.
"""

import os
from collections.abc import Mapping

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_PROPAGATOR = TraceContextTextMapPropagator()
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def build_tracer_provider(service: str, sample: float, processor: SpanProcessor | None) -> trace.TracerProvider:
    """The provider of one process: recording if somebody listens, else one that costs nothing."""
    if processor is None:
        if not any(os.environ.get(name) for name in _ENDPOINTS):
            return trace.NoOpTracerProvider()
        processor = BatchSpanProcessor(OTLPSpanExporter())
    provider = TracerProvider(
        resource=Resource.create({"service.name": service, "service.namespace": "fanfuse"}),
        sampler=ParentBased(TraceIdRatioBased(sample)),
    )
    provider.add_span_processor(processor)
    return provider


def shut_down(provider: trace.TracerProvider) -> None:
    """Flush what is recorded and stop exporting."""
    if isinstance(provider, TracerProvider):
        provider.shutdown()


def extract(headers: Mapping[str, str]) -> Context:
    """The caller's context; an empty one where the header is absent or malformed."""
    return _PROPAGATOR.extract(headers, context=Context())


def inject(headers: dict[str, str]) -> dict[str, str]:
    """Add the current context to the headers of a message."""
    _PROPAGATOR.inject(headers)
    return headers
