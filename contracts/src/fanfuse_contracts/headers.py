"""Names of the NATS headers Fanfuse reads or writes."""

from typing import Final

MESSAGE_ID: Final = "Nats-Msg-Id"
"""Read by the server: a second message with this id inside the duplicate window is dropped."""
TRACEPARENT: Final = "traceparent"
"""W3C trace context (https://www.w3.org/TR/trace-context/)."""
