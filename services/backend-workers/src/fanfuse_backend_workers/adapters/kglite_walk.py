"""Runs a walk on a kglite session: one statement per ask, each within what is left of the time.

In: a session and a search. Out: hits. What is asked and how hits are ranked is the domain's (`graph_walk`).
"""

import time
from typing import Final

import kglite

from fanfuse_backend_workers.adapters import kglite_queries as queries
from fanfuse_backend_workers.adapters.filter_values import Condition
from fanfuse_backend_workers.domain.graph_asks import Ask, OutOfTime, Rows
from fanfuse_backend_workers.domain.graph_walk import HOP_FINDS, walk
from fanfuse_backend_workers.ports import EngineResult, SearchError, SearchRequest
from fanfuse_contracts.enums import FailureKind

_HOPS_SHARE: Final = 0.6
"""Share of the time for the hops; the rest is for reading chunks."""


def run_walk(
    session: kglite.Session, request: SearchRequest, condition: Condition | None, time_s: float
) -> EngineResult:
    """Hits around the seeds, after at most `time_s` seconds. Raises TIMEOUT where no chunk could be read."""
    runner = _Runner(session, request, condition, time_s)
    asking = walk(request.seeds, request.text, request.window)
    try:
        ask = next(asking)
        while True:
            try:
                rows = runner.rows(ask)
            except kglite.CypherTimeoutError:
                ask = asking.throw(OutOfTime)
            else:
                ask = asking.send(rows)
    except StopIteration as end:
        result: EngineResult = end.value
        return result
    except OutOfTime as error:
        raise SearchError(FailureKind.TIMEOUT, "the graph walk took too long") from error


class _Runner:
    """Statements of one search."""

    def __init__(
        self, session: kglite.Session, request: SearchRequest, condition: Condition | None, time_s: float
    ) -> None:
        self._session = session
        self._owner = {"tenant": request.tenant, "corpus": request.corpus}
        self._condition = condition
        started = time.monotonic()
        self._hops_until = started + time_s * _HOPS_SHARE
        self._until = started + time_s

    def rows(self, ask: Ask) -> Rows:
        """The rows of one ask; raises `kglite.CypherTimeoutError`."""
        statement, parameters = queries.statement(ask, self._condition)
        until = self._hops_until if ask.find in HOP_FINDS else self._until
        left_ms = max(1, int((until - time.monotonic()) * 1_000))
        return list(self._session.cypher(statement, params={**parameters, **self._owner}, timeout_ms=left_ms))
