"""Runs a walk on a graph index: nodes by statement, edges from arrays, each ask within what is left of the time.

In: an index and a search. Out: hits. What is asked and how hits are ranked is the domain's (`graph_walk`).
"""

import time
from collections.abc import Mapping
from typing import Any, Final

import kglite

from fanfuse_backend_workers.adapters import kglite_queries as queries
from fanfuse_backend_workers.adapters.filter_values import Condition
from fanfuse_backend_workers.adapters.kglite_edges import Edges
from fanfuse_backend_workers.domain.graph_asks import COLUMNS, Ask, Find, OutOfTime, Rows
from fanfuse_backend_workers.domain.graph_walk import HOP_FINDS, walk
from fanfuse_backend_workers.ports import EngineResult, SearchError, SearchRequest
from fanfuse_contracts.enums import FailureKind

_HOPS_SHARE: Final = 0.6
"""Share of the time for the hops; the rest is for reading chunks."""


def run_walk(
    session: kglite.Session, edges: Edges, request: SearchRequest, condition: Condition | None, time_s: float
) -> EngineResult:
    """Hits around the seeds, after at most `time_s` seconds. Raises TIMEOUT where no chunk could be read."""
    runner = _Runner(session, edges, request, condition, time_s)
    asking = walk(request.seeds, request.text, request.window, filtered=request.filter is not None)
    try:
        ask = next(asking)
        while True:
            try:
                rows = runner.rows(ask)
            except (OutOfTime, kglite.CypherTimeoutError):
                ask = asking.throw(OutOfTime)
            else:
                ask = asking.send(rows)
    except StopIteration as end:
        result: EngineResult = end.value
        return result
    except OutOfTime as error:
        raise SearchError(FailureKind.TIMEOUT, "the graph walk took too long") from error


class _Runner:
    """The asks of one search."""

    def __init__(
        self, session: kglite.Session, edges: Edges, request: SearchRequest, condition: Condition | None, time_s: float
    ) -> None:
        self._session = session
        self._edges = edges
        self._owner = {"tenant": request.tenant, "corpus": request.corpus}
        self._condition = condition
        started = time.monotonic()
        self._hops_until = started + time_s * _HOPS_SHARE
        self._until = started + time_s

    def rows(self, ask: Ask) -> Rows:
        """The rows of one ask; raises `OutOfTime` or `kglite.CypherTimeoutError`."""
        left_s = (self._hops_until if ask.find in HOP_FINDS else self._until) - time.monotonic()
        if left_s <= 0:
            raise OutOfTime
        if ask.find is Find.RELATIONS:
            return self._edges.relations(ask, self._owner)
        if ask.find is Find.MENTIONS:
            return self._allowed(self._edges.mentions(ask, self._owner), left_s)
        statement, parameters = queries.statement(ask)
        found = self._run(statement, parameters, left_s)
        return list(zip(*map(found.column, COLUMNS[ask.find]), strict=True))

    def _allowed(self, mentions: Rows, left_s: float) -> Rows:
        """Without the chunks that the filter keeps out."""
        if self._condition is None:
            return mentions
        statement, parameters = queries.allowed(dict.fromkeys(row[-1] for row in mentions), self._condition)
        chunk_ids = set(self._run(statement, parameters, left_s).column("chunk_id"))
        return [row for row in mentions if row[-1] in chunk_ids]

    def _run(self, statement: str, parameters: Mapping[str, Any], left_s: float) -> kglite.ResultView:
        timeout_ms = max(1, int(left_s * 1_000))
        found: kglite.ResultView = self._session.cypher(
            statement, params={**parameters, **self._owner}, timeout_ms=timeout_ms
        )
        return found
