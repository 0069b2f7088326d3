"""Names of the NATS headers Fanfuse reads or writes."""

from typing import Final

MESSAGE_ID: Final = "Nats-Msg-Id"
"""Read by the server: a second message with this id inside the duplicate window is dropped."""
EXPECTED_STREAM: Final = "Nats-Expected-Stream"
TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
"""W3C trace context (https://www.w3.org/TR/trace-context/)."""
REASON: Final = "Fanfuse-Reason"
"""Dead letters: the short reason."""
ORIGINAL_SUBJECT: Final = "Fanfuse-Original-Subject"
"""Dead letters: where the message was found."""
