"""Graph search in process: from seed entities over bounded hops to the chunks that mention what was reached.

The files are read into memory once and never written, so any number of processes may open it; the session refuses
writes. How chunks are ranked is said in `domain.graph_walk`.
"""

from functools import partial
from typing import Final

import kglite

from fanfuse_backend_workers.adapters import kglite_queries as queries
from fanfuse_backend_workers.adapters.engine_calls import call_engine
from fanfuse_backend_workers.adapters.filter_values import EXACT_OPERATORS, FieldValues
from fanfuse_backend_workers.adapters.kglite_edges import Edges
from fanfuse_backend_workers.adapters.kglite_walk import run_walk
from fanfuse_backend_workers.ports import EngineResult, SearchError, SearchRequest
from fanfuse_contracts.enums import FailureKind, Kind

_ENGINE_SHARE: Final = 0.8
"""Share of a search's time that the engine gets, so that its own timeout stops the walk before ours gives up on it."""


class KgliteGraphEngine:
    """One corpus, opened for reading."""

    kind = Kind.GRAPH
    operators = EXACT_OPERATORS

    def __init__(self, session: kglite.Session, edges: Edges, values: FieldValues) -> None:
        self._session: kglite.Session | None = session
        self._edges = edges
        self._values = values

    async def search(self, request: SearchRequest) -> EngineResult:
        """Chunks around `request.seeds`; without seeds, or with none that is known here, there is no hit."""
        return await call_engine(partial(self._search, request), request.timeout_s, (kglite.KgError,))

    def _search(self, request: SearchRequest) -> EngineResult:
        condition = None if request.filter is None else self._values.compile(request.filter)
        time_s = request.timeout_s * _ENGINE_SHARE
        return run_walk(self._open_session(), self._edges, request, condition, time_s)

    async def count(self) -> int:
        """Chunks in the index."""
        return int(next(iter(self._open_session().cypher(queries.COUNT_CHUNKS)))["chunks"])

    async def close(self) -> None:
        """Let go of the graph; a search that runs keeps it until it ends."""
        self._session = None

    def _open_session(self) -> kglite.Session:
        if self._session is None:
            raise SearchError(FailureKind.UNAVAILABLE, "the graph index is closed")
        return self._session
