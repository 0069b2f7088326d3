"""Searches one generation on a Neo4j server.

In: a search. Out: hits. What is asked of the graph and how hits are ranked is the domain's (`graph_walk`), so that the
embedded engine and the server agree; the server answers one bounded reading statement per ask.
"""

import asyncio
from typing import Any, Final

from fanfuse_backend_workers.adapters.neo4j_calls import Neo4jCalls
from fanfuse_backend_workers.adapters.neo4j_filters import OPERATORS
from fanfuse_backend_workers.adapters.neo4j_statements import Statements
from fanfuse_backend_workers.adapters.neo4j_writing import owner_of, place_of
from fanfuse_backend_workers.domain.graph_asks import Ask, Find, OutOfTime, Rows
from fanfuse_backend_workers.domain.graph_walk import HOP_FINDS, Asking, walk
from fanfuse_backend_workers.ports import EngineResult, SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_contracts.enums import FailureKind, Kind

_HOPS_SHARE: Final = 0.6
"""Share of the time for the hops; the rest is for reading chunks."""
_COUNT_S: Final = 10.0
_PLAN_S: Final = 30.0


class Neo4jEngine:
    """One generation of one corpus, opened for reading."""

    kind = Kind.GRAPH
    operators = OPERATORS

    def __init__(self, calls: Neo4jCalls, statements: Statements, key: IndexKey, *, full_text: bool) -> None:
        self._calls = calls
        self._statements = statements
        self._key = key
        self._full_text = full_text
        self._closed = False

    async def search(self, request: SearchRequest) -> EngineResult:
        """Chunks around `request.seeds`; raises TIMEOUT where no chunk could be read in time."""
        self._check_open()
        asking = walk(request.seeds, request.text, request.window, filtered=request.filter is not None)
        asker = _Asker(self._calls, self._statements, request, self._key.generation, full_text=self._full_text)
        step = await asyncio.to_thread(_advance, asking, None)
        while isinstance(step, Ask):
            try:
                rows = await asker.rows(step)
            except OutOfTime:
                if step.find not in HOP_FINDS:
                    asking.close()
                    raise SearchError(FailureKind.TIMEOUT, f"no answer within {request.timeout_s:.3f} s") from None
                step = await asyncio.to_thread(_give_up, asking)
            else:
                step = await asyncio.to_thread(_advance, asking, rows)
        return step

    async def warm(self) -> None:
        """Have the server plan every statement: the first time takes it longer than a search may take."""
        for find in Find:
            statement, parameters = self._statements.ask(Ask(find, ("",), (1,)), None, full_text=self._full_text)
            await self._calls.read(statement, {**parameters, **_owner(self._key)}, _PLAN_S)

    async def count(self) -> int:
        """Chunks in the generation."""
        self._check_open()
        return await count_chunks(self._calls, self._statements, self._key)

    async def close(self) -> None:
        """The server's client stays open."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise SearchError(FailureKind.UNAVAILABLE, "the graph index is closed")


async def count_chunks(calls: Neo4jCalls, statements: Statements, key: IndexKey) -> int:
    """Chunks of a generation; raises NOT_FOUND where it does not exist."""
    rows = await calls.read(
        f"MATCH (n:{statements.index} {{key: $scope}}) OPTIONAL MATCH (c:{statements.chunk} {{scope: $scope}})"
        " RETURN count(DISTINCT n) AS found, count(c) AS chunks",
        owner_of(key),
        _COUNT_S,
    )
    if not rows[0]["found"]:
        raise SearchError(FailureKind.NOT_FOUND, "there is no such generation on the server")
    return int(rows[0]["chunks"])


class _Asker:
    """Statements of one search, within what is left of its time."""

    def __init__(
        self, calls: Neo4jCalls, statements: Statements, request: SearchRequest, generation: str, *, full_text: bool
    ) -> None:
        key = IndexKey(request.tenant, request.corpus, generation)
        self._calls = calls
        self._statements = statements
        self._filter = request.filter
        self._full_text = full_text
        self._owner = _owner(key)
        now = asyncio.get_running_loop().time()
        self._hops_until = now + request.timeout_s * _HOPS_SHARE
        self._until = now + request.timeout_s

    async def rows(self, ask: Ask) -> Rows:
        """Records of one ask; raises `OutOfTime`, or `SearchError` for any other failure."""
        statement, parameters = self._statements.ask(ask, self._filter, full_text=self._full_text)
        until = self._hops_until if ask.find in HOP_FINDS else self._until
        left_s = until - asyncio.get_running_loop().time()
        if left_s <= 0:
            raise OutOfTime
        try:
            return await self._calls.read(statement, {**parameters, **self._owner}, left_s)
        except SearchError as error:
            if error.kind is FailureKind.TIMEOUT:
                raise OutOfTime from error
            raise


def _owner(key: IndexKey) -> dict[str, Any]:
    return {**owner_of(key), "place_query": f"+place:{place_of(key)} "}


def _advance(asking: Asking, rows: Rows | None) -> Ask | EngineResult:
    """The next ask, or the result. Ranking takes milliseconds, so it runs beside the event loop."""
    try:
        return next(asking) if rows is None else asking.send(rows)
    except StopIteration as end:
        result: EngineResult = end.value
        return result


def _give_up(asking: Asking) -> Ask | EngineResult:
    try:
        return asking.throw(OutOfTime)
    except StopIteration as end:
        result: EngineResult = end.value
        return result
