"""Vector search of one generation on a Qdrant server.

In: a request with a vector. Out: the best chunks by cosine, in total order, or a typed failure. Tenant, corpus,
generation and filter are part of Qdrant's own filter. A vector that has no direction or another size is never sent.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Final

from qdrant_client import AsyncQdrantClient, models

from fanfuse_backend_workers.adapters.qdrant_server_calls import QdrantCalls, QdrantError
from fanfuse_backend_workers.adapters.qdrant_server_filters import OPERATORS, compiled
from fanfuse_backend_workers.adapters.qdrant_server_points import HIT_FIELDS, VECTOR, generation_point_id, within
from fanfuse_backend_workers.adapters.ranking import GROWTH, Scored, settle
from fanfuse_backend_workers.adapters.unit_vector import query_direction
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_contracts.enums import FailureKind, Kind

EXACT_UP_TO: Final = 50_000
"""Chunks of a generation that are compared one by one; of more, Qdrant's graph finds nearly all of the best."""
MAX_ASKED: Final = 16_384
"""Hits asked for at most, to order those that tie at the end of the window."""
COUNT_S: Final = 10.0

Payload = dict[str, Any]


class QdrantServerEngine:
    """One generation, opened for reading."""

    kind = Kind.VECTOR
    operators = OPERATORS

    def __init__(
        self, client: AsyncQdrantClient, calls: QdrantCalls, key: IndexKey, collection: str, size: int, chunks: int
    ) -> None:
        self._client = client
        self._calls = calls
        self._key = key
        self._collection = collection
        self._size = size
        self._exact = chunks <= EXACT_UP_TO
        self._closed = False

    async def search(self, request: SearchRequest) -> EngineResult:
        """Nearest chunks to `request.vector` by cosine, -1 to 1.

        Raises `SearchError`: EMBEDDER without a vector, BAD_REQUEST for one without direction, CONFIG for a wrong size.
        """
        self._check_open()
        vector = self._query_vector(request.vector)
        condition = None if request.filter is None else compiled(request.filter)
        # The request's own tenant and corpus: those of another are not found here.
        chosen = within(IndexKey(request.tenant, request.corpus, self._key.generation), condition)
        ends = asyncio.get_running_loop().time() + request.timeout_s
        limit = request.window + 1
        while True:
            left_s = ends - asyncio.get_running_loop().time()
            found = await self._ask(vector, chosen, limit, left_s, filtered=condition is not None)
            settled = settle(found, limit, request.window)
            if settled is not None:
                if not settled[0]:
                    await self._check_exists(ends - asyncio.get_running_loop().time())
                return _result(*settled, request.window)
            if limit >= MAX_ASKED:
                return _result(
                    *_unsettled(found), request.window, f"over {MAX_ASKED} hits tie at the end of the window"
                )
            limit = min(limit * GROWTH, MAX_ASKED)

    async def count(self) -> int:
        """Chunks in the generation."""
        self._check_open()
        chosen = within(self._key)
        counted = await self._calls.run_again(
            lambda: self._client.count(self._collection, count_filter=chosen, exact=True), COUNT_S
        )
        return counted.count

    async def close(self) -> None:
        """Search no more; the client stays open."""
        self._closed = True

    async def _ask(
        self, vector: list[float], chosen: models.Filter, limit: int, left_s: float, *, filtered: bool
    ) -> list[Scored[Payload]]:
        try:
            answer = await self._calls.run_again(
                lambda: self._client.query_points(
                    self._collection,
                    query=vector,
                    using=VECTOR,
                    query_filter=chosen,
                    search_params=models.SearchParams(exact=self._exact),
                    limit=limit,
                    with_payload=list(HIT_FIELDS),
                    timeout=max(1, math.ceil(left_s)),
                ),
                left_s,
            )
        except QdrantError as error:
            if filtered and error.kind is FailureKind.BAD_REQUEST:
                message = f"{error.message}: it is too old for one of the filter's operators, or strict about indexes"
                raise SearchError(FailureKind.UNSUPPORTED_FILTER, message) from error
            raise
        return [(point.score, point.payload or {}) for point in answer.points]

    async def _check_exists(self, left_s: float) -> None:
        """No hit is an answer only of a generation that is there."""
        point = [generation_point_id(self._key)]
        there = await self._calls.run_again(
            lambda: self._client.retrieve(self._collection, point, with_payload=False), left_s
        )
        if not there:
            whose = f"{self._key.tenant}/{self._key.corpus}"
            message = f"generation {self._key.generation!r} of {whose} is no longer on the server"
            raise SearchError(FailureKind.NOT_FOUND, message)

    def _query_vector(self, vector: tuple[float, ...] | None) -> list[float]:
        direction = query_direction(vector)
        if len(direction) != self._size:
            message = f"collection {self._collection!r} holds vectors of {self._size} dimensions, not {len(direction)}"
            raise SearchError(FailureKind.CONFIG, message)
        return direction

    def _check_open(self) -> None:
        if self._closed:
            raise SearchError(FailureKind.UNAVAILABLE, "this generation is closed")


def _result(kept: Sequence[Scored[Payload]], dropped: int, window: int, cut: str | None = None) -> EngineResult:
    named = [(score, payload) for score, payload in kept if payload.get("chunk_id")]
    hits = [
        EngineHit(payload["chunk_id"], score or 0.0, payload.get("content_hash", ""), payload.get("title", ""))
        for score, payload in named
    ]
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
    return EngineResult(tuple(ordered[:window]), cut, dropped + len(kept) - len(named))


def _unsettled(found: Sequence[Scored[Payload]]) -> tuple[list[Scored[Payload]], int]:
    sound = [scored for scored in found if scored[0] is not None and math.isfinite(scored[0])]
    return sound, len(found) - len(sound)
