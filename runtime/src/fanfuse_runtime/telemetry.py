"""One OpenTelemetry trace per query, through NATS headers (W3C trace context).

Spans are recorded when OTEL_EXPORTER_OTLP_ENDPOINT (or the traces variant) is set, or a test gives a processor;
otherwise the headers of a message are handed on as they came, and no span is made. The other OTEL_ variables mean what
they always do. Span names hold no id, spans no message of an exception. A missing or malformed header starts a new
trace.
"""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, Token
from functools import lru_cache
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

from fanfuse_contracts.headers import TRACEPARENT, TRACESTATE
from fanfuse_contracts.tracing import UNDECIDED

_PROPAGATOR = TraceContextTextMapPropagator()
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_SAMPLER: Final = "OTEL_TRACES_SAMPLER"
_SERVICE_NAME: Final = "OTEL_SERVICE_NAME"
_FLUSH_WITHIN_S: Final = 3.0
_VALID: Final = re.compile("(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_PARENT_LENGTH: Final = 55
_MAX_STATE: Final = 512
_REMEMBERED: Final = 1_024
"""Traces: all messages of a query carry the same."""
_NO_SPAN: Final = nullcontext(trace.INVALID_SPAN)

_handed_on: ContextVar[Mapping[str, str] | None] = ContextVar("handed_on", default=None)
"""Trace headers of the message at hand, where nothing is recorded; None where spans are."""


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


def span(
    tracer: trace.Tracer,
    name: str,
    context: Context | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes = None,
) -> AbstractContextManager[trace.Span]:
    """The current span of a block. Of what is raised only the type is told: a message may hold a text or a secret."""
    if context is None and isinstance(tracer, trace.NoOpTracer):
        return _NO_SPAN
    return _current(tracer, name, context, kind, attributes)


def handling(
    tracer: trace.Tracer, name: str, headers: Mapping[str, str], kind: SpanKind, attributes: Attributes = None
) -> AbstractContextManager[object]:
    """The span of a message in hand, under the one its headers name, which is that of all it leads to."""
    if isinstance(tracer, trace.NoOpTracer):
        return _HandedOn(headers)
    return span(tracer, name, extract(headers), kind, attributes)


@lru_cache(maxsize=_REMEMBERED)
def _carried(parent: str, state: str) -> Mapping[str, str]:
    """The trace headers of a message, without what is malformed."""
    if not _VALID.fullmatch(parent):
        return {}
    return {TRACEPARENT: parent, TRACESTATE: state} if state else {TRACEPARENT: parent}


class _HandedOn:
    """What is sent inside the block carries the trace headers of `headers`; malformed ones are dropped."""

    __slots__ = ("_carried", "_token")

    def __init__(self, headers: Mapping[str, str]) -> None:
        parent, state = headers.get(TRACEPARENT, ""), headers.get(TRACESTATE, "")
        # What anybody may send is remembered only within the bounds of what is handed on.
        if len(parent) != _PARENT_LENGTH:
            self._carried: Mapping[str, str] = {}
        else:
            self._carried = _carried(parent, state if len(state) <= _MAX_STATE else "")

    def __enter__(self) -> None:
        self._token: Token[Mapping[str, str] | None] = _handed_on.set(self._carried)

    def __exit__(self, *_raised: object) -> None:
        _handed_on.reset(self._token)


@contextmanager
def _current(
    tracer: trace.Tracer, name: str, context: Context | None, kind: SpanKind, attributes: Attributes
) -> Iterator[trace.Span]:
    with tracer.start_as_current_span(
        name, context, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def current_span() -> trace.Span:
    """The span of the block at hand; where nothing is recorded, one that takes nothing."""
    return trace.INVALID_SPAN if _handed_on.get() is not None else trace.get_current_span()


def extract(headers: Mapping[str, str]) -> Context:
    """The caller's context; an empty one where the header is absent or malformed."""
    return _PROPAGATOR.extract(headers, context=Context())


def inject(headers: dict[str, str], *, hand_on: bool = True) -> dict[str, str]:
    """Add the current context to the headers of a message. `hand_on`: also where it is not recorded here."""
    carried = _handed_on.get()
    if carried is None:
        _PROPAGATOR.inject(headers)
    elif hand_on:
        headers.update(carried)
    return headers


def trace_id() -> str | None:
    """Id of the current trace in hexadecimal, recorded or not; None outside of any."""
    carried = _handed_on.get()
    if carried:
        return carried[TRACEPARENT].split("-")[1]
    current = trace.get_current_span().get_span_context()
    return trace.format_trace_id(current.trace_id) if current.is_valid else None


def sampled_trace_id() -> str | None:
    """The same where the trace is recorded here; else None."""
    if _handed_on.get() is not None:
        return None
    current = trace.get_current_span().get_span_context()
    return trace.format_trace_id(current.trace_id) if current.trace_flags.sampled else None


def link(current: trace.Span, traceparent: str, attributes: Attributes) -> None:
    """Link a span to the one that a header names; nothing where that is absent or malformed."""
    if current.is_recording():
        other = trace.get_current_span(extract({TRACEPARENT: traceparent})).get_span_context()
        if other.is_valid:
            current.add_link(other, attributes)
