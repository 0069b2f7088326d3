"""Names of the NATS headers Fanfuse reads or writes."""

from typing import Final

MESSAGE_ID: Final = "Nats-Msg-Id"
"""Read by the server: a second message with this id inside the duplicate window is dropped."""
TRACEPARENT: Final = "traceparent"
"""W3C trace context (https://www.w3.org/TR/trace-context/)."""
TRACESTATE: Final = "tracestate"
"""What the systems that a trace crossed say of it, in the same recommendation."""
PRINCIPAL: Final = "Fanfuse-Principal"
"""Of a query: who asks, as a compact EdDSA JWT (RFC 7519, RFC 8037). Checked where the query enters, then dropped."""
