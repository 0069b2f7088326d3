"""Structured logs: one JSON object per line on standard error, with query and trace id.

The current message sets the ids for its own task; nothing else is attached. Texts, vectors and secrets are never
logged.
"""

import logging
import sys
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import structlog
from opentelemetry import trace


class LogLevelError(ValueError):
    """FANFUSE_LOG_LEVEL names no level."""


class MessageIds(NamedTuple):
    """Which query a task is working for."""

    tenant: str
    query_id: str


current_message: ContextVar[MessageIds | None] = ContextVar("current_message", default=None)


def _add_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    ids = current_message.get()
    if ids is not None:
        event.setdefault("tenant", ids.tenant)
        event.setdefault("query_id", ids.query_id)
    span = trace.get_current_span().get_span_context()
    if span.is_valid:
        event["trace_id"] = trace.format_trace_id(span.trace_id)
    return event


def configure_logs(level: str) -> None:
    """Set up the process's logs once, at its start. `level`: debug, info, warning or error."""
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise LogLevelError(f"log level {level!r} is not one of debug, info, warning, error")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _add_ids,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(number, logging.WARNING), stream=sys.stderr, format="%(message)s")


def get_logger(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger whose events carry `component=name`."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(component=name)
    return logger
