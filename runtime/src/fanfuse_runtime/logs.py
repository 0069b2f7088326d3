"""Structured logs: one JSON object per line on standard error, with query and trace id.

The current message sets the ids for its own task; nothing else is attached. Texts and vectors are never logged, secrets
are masked, also in what libraries log.
"""

import logging
import sys
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import structlog

from fanfuse_runtime.masking import known_numbers, masked
from fanfuse_runtime.telemetry import trace_id

_NUMBERS: Final = (int, float)


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
    if (current := trace_id()) is not None:
        event["trace_id"] = current
    return event


def _mask(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    # Most of what is told of a decision is a number, and hardly any number is a secret.
    return {
        name: value if isinstance(value, _NUMBERS) and value not in known_numbers else masked(value, name)
        for name, value in event.items()
    }


_ENTRY: Final = (
    structlog.processors.add_log_level,
    _add_ids,
    structlog.processors.format_exc_info,
)
_LINE: Final = (
    _mask,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.JSONRenderer(default=str),
)


def configure_logs(level: str) -> None:
    """Set up the process's logs once, at its start. `level`: debug, info, warning or error."""
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise LogLevelError(f"log level {level!r} is not one of debug, info, warning, error")
    structlog.configure(
        processors=[*_ENTRY, *_LINE],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[_library_handler()])


def _library_handler() -> logging.Handler:
    """What libraries log through the standard library, as lines of the same form; `component` is their logger."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_ENTRY, _component],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_LINE],
        )
    )
    return handler


def _component(logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event["component"] = logger.name if logger is not None else event["_record"].name
    return event


def get_logger(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger whose events carry `component=name`."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(component=name)
    return logger
