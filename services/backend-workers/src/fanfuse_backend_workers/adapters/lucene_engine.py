"""One generation of one corpus on an Elasticsearch or OpenSearch server, opened for searching.

In: a search. Out: hits of exactly this tenant, corpus and generation, or a typed failure. Closing it leaves the client
open.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from fanfuse_backend_workers.adapters.filter_values import EXACT_OPERATORS
from fanfuse_backend_workers.adapters.lucene_calls import Call, Calls, Patience
from fanfuse_backend_workers.adapters.lucene_failures import ServerError
from fanfuse_backend_workers.adapters.lucene_filters import compile_filter
from fanfuse_backend_workers.adapters.lucene_queries import read_result, search_body, shortage
from fanfuse_backend_workers.domain.analysis import analyse_query
from fanfuse_backend_workers.ports import EngineResult, SearchRequest
from fanfuse_contracts.enums import FailureKind, Kind

_RETRIES: Final = 1
_PAUSE_S: Final = 0.1
_READING: Final = Patience(within_s=10.0, retries=1, pause_s=_PAUSE_S)
_PARTIAL: Final[Mapping[str, str]] = {"allow_partial_search_results": "true"}


class LuceneEngine:
    """Searches one index."""

    kind = Kind.KEYWORD
    operators = EXACT_OPERATORS

    def __init__(self, calls: Calls, index: str, fields: frozenset[str]) -> None:
        self._calls = calls
        self._index = index
        self._fields = fields
        self._closed = False

    async def search(self, request: SearchRequest) -> EngineResult:
        """BM25 over the words of `request.text`; blank text, punctuation and stop words have no hit."""
        self._check_open()
        terms = analyse_query(request.text, request.identifiers)
        condition = None if request.filter is None else compile_filter(request.filter, self._fields)
        if terms.empty:
            return EngineResult(())
        body = search_body(request, terms, condition, request.timeout_s)
        call = Call("search", "POST", f"/{self._index}/_search", json.dumps(body).encode(), params=_PARTIAL)
        return read_result(await self._calls.ask(call, Patience(request.timeout_s, _RETRIES, _PAUSE_S)), terms)

    async def count(self) -> int:
        """Chunks in the index."""
        self._check_open()
        return await count(self._calls, self._index)

    async def close(self) -> None:
        """Search no more."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise ServerError(FailureKind.UNAVAILABLE, "the keyword index is closed")


async def count(calls: Calls, index: str) -> int:
    """Documents of an index that are found; raises NOT_FOUND where there is no such index."""
    said: dict[str, Any] = await calls.ask(Call("count", "GET", f"/{index}/_count"), _READING)
    if (short := shortage(said)) is not None or not isinstance(said.get("count"), int):
        raise ServerError(FailureKind.UNAVAILABLE, f"the chunks could not be counted: {short or 'no count came back'}")
    return int(said["count"])
