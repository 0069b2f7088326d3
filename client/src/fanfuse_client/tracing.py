"""The W3C trace context a query starts with (https://www.w3.org/TR/trace-context/).

Out: message headers. Where the application traces with OpenTelemetry its current span is the parent; else each query
starts a trace of its own.
"""

from secrets import token_hex

from fanfuse_contracts.headers import TRACEPARENT

try:
    from opentelemetry.propagate import inject
except ImportError:  # the application does not trace
    inject = None  # type: ignore[assignment]


def trace_headers() -> dict[str, str]:
    """Headers that carry the trace of one query."""
    carried: dict[str, str] = {}
    if inject is not None:
        inject(carried)
    carried.setdefault(TRACEPARENT, f"00-{token_hex(16)}-{token_hex(8)}-01")
    return carried
