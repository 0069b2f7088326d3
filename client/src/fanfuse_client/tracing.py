"""The W3C trace context a query starts with (https://www.w3.org/TR/trace-context/).

Out: message headers. Where the application traces with OpenTelemetry its current span is the parent; else each query
starts a trace of its own, and the services decide whether it is recorded.
"""

from secrets import token_hex

from fanfuse_contracts.headers import TRACEPARENT, TRACESTATE
from fanfuse_contracts.tracing import UNDECIDED

try:
    from opentelemetry.propagate import inject
except ImportError:  # the application does not trace
    inject = None  # type: ignore[assignment]


def trace_headers() -> dict[str, str]:
    """Headers that carry the trace of one query."""
    carried: dict[str, str] = {}
    if inject is not None:
        inject(carried)
    if TRACEPARENT not in carried:
        carried[TRACEPARENT] = f"00-{token_hex(16)}-{token_hex(8)}-01"
        carried[TRACESTATE] = "=".join(UNDECIDED)
    return carried
