"""Tells the ways of an answer to traces and logs, after it is out: one span and one event per selected corpus.

A span begins when its plan was made, whichever process made it. Costs nothing where the query's trace is not sampled
and the log's level is above info.
"""

import logging
import time
from collections.abc import Mapping

from opentelemetry.trace import Status, StatusCode, Tracer

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.plan import QueryPlanned
from fanfuse_contracts.tracing import RETRIEVE_ROUTE, ROUTE_ERROR
from fanfuse_fuser.domain.routes import EVENT, Attribute, planned_at_ms, routes_of
from fanfuse_fuser.ports import Clock
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.telemetry import current_span


class TracedRoutes:
    """Spans under the current one, which is that of the plan's message."""

    def __init__(self, tracer: Tracer, clock: Clock) -> None:
        self._tracer = tracer
        self._clock = clock
        # Bound once: a lazy logger is made anew for each event, which takes half of its time.
        self._log = get_logger("fuser").bind()
        self._logged = self._log.is_enabled_for(logging.INFO)

    def tell(self, planned: QueryPlanned, answer: Answer) -> None:
        """To be called when the answer is stored."""
        sampled = current_span().is_recording()
        if not (sampled or self._logged):
            return
        elapsed_ms = max(0.0, self._clock.elapsed_ms(planned.submitted_ns) - planned_at_ms(planned))
        for said in routes_of(answer, elapsed_ms):
            if self._logged:
                self._log.info(EVENT, **said)
            if sampled:
                self._span(said, elapsed_ms)

    def _span(self, said: Mapping[str, Attribute], elapsed_ms: float) -> None:
        # On this process's own clock, so that a span never ends before it begins.
        end_ns = time.time_ns()
        span = self._tracer.start_span(RETRIEVE_ROUTE, attributes=said, start_time=end_ns - int(elapsed_ms * 1e6))
        if ROUTE_ERROR in said:
            span.set_status(Status(StatusCode.ERROR, str(said[ROUTE_ERROR])))
        span.end(end_ns)
