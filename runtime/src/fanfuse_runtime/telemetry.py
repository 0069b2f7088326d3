"""One OpenTelemetry trace per query, through NATS headers (W3C trace context).

Spans are recorded when OTEL_EXPORTER_OTLP_ENDPOINT (or the traces variant) is set, or a test gives a processor;
otherwise only the context travels. The other OTEL_ variables mean what they always do. Span names hold no id, spans no
message of an exception. A missing or malformed header starts a new trace.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, SamplingResult, TraceIdRatioBased
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import Attributes

from fanfuse_contracts.headers import TRACEPARENT
from fanfuse_contracts.tracing import UNDECIDED

_PROPAGATOR = TraceContextTextMapPropagator()
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_SAMPLER: Final = "OTEL_TRACES_SAMPLER"
_SERVICE_NAME: Final = "OTEL_SERVICE_NAME"
_FLUSH_WITHIN_S: Final = 3.0


class SharedDecision(Sampler):
    """The parent decides, also that of another process; where nobody decided yet, a share of all traces is recorded."""

    def __init__(self, share: float) -> None:
        self._share = TraceIdRatioBased(share)
        self._parent = ParentBased(self._share)

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """As the interface has it."""
        state = trace.get_current_span(parent_context).get_span_context().trace_state
        key, undecided = UNDECIDED
        if state.get(key) != undecided:
            return self._parent.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)
        found = self._share.should_sample(None, trace_id, name, kind, attributes, links, trace_state)
        return SamplingResult(found.decision, found.attributes, state.delete(key))

    def get_description(self) -> str:
        """For people."""
        return f"SharedDecision({self._share.get_description()})"


def build_tracer_provider(service: str, sample: float, processor: SpanProcessor | None) -> trace.TracerProvider:
    """The provider of one process: recording if somebody listens, else one that costs nothing."""
    if processor is None:
        if not any(os.environ.get(name) for name in _ENDPOINTS) or _is_off():
            return trace.NoOpTracerProvider()
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        processor = BatchSpanProcessor(OTLPSpanExporter())
    attributes = {"service.namespace": "fanfuse"}
    if not os.environ.get(_SERVICE_NAME):
        attributes["service.name"] = service
    provider = TracerProvider(
        resource=Resource.create(attributes),
        shutdown_on_exit=False,
        sampler=None if os.environ.get(_SAMPLER) else SharedDecision(sample),
    )
    provider.add_span_processor(processor)
    return provider


def _is_off() -> bool:
    return os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"


async def shut_down(provider: trace.TracerProvider) -> None:
    """Flush what is recorded and stop exporting; what a collector that is away does not take in time is lost."""
    if not isinstance(provider, TracerProvider):
        return
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def flush() -> None:
        provider.shutdown()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    # A thread that the interpreter does not wait for: the exporter tries again for longer than a stop may take.
    Thread(target=flush, name="spans-flush", daemon=True).start()
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), _FLUSH_WITHIN_S)


@contextmanager
def span(
    tracer: trace.Tracer,
    name: str,
    context: Context | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes = None,
) -> Iterator[trace.Span]:
    """The current span of a block. Of what is raised only the type is told: a message may hold a text or a secret."""
    with tracer.start_as_current_span(
        name, context, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def extract(headers: Mapping[str, str]) -> Context:
    """The caller's context; an empty one where the header is absent or malformed."""
    return _PROPAGATOR.extract(headers, context=Context())


def inject(headers: dict[str, str]) -> dict[str, str]:
    """Add the current context to the headers of a message."""
    _PROPAGATOR.inject(headers)
    return headers


def link(current: trace.Span, traceparent: str, attributes: Attributes) -> None:
    """Link a span to the one that a header names; nothing where that is absent or malformed."""
    if current.is_recording():
        other = trace.get_current_span(extract({TRACEPARENT: traceparent})).get_span_context()
        if other.is_valid:
            current.add_link(other, attributes)
