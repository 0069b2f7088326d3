"""Corpora that stand on an engine server, opened when the server can be reached.

In: a card and its server's client. Out: engines and texts of the card's generation. A server that is down fails each
search typed, and the first search after it is back opens the corpus: nothing waits for a restart or a timer.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from fanfuse_backend_workers.connections import Connections, Server
from fanfuse_backend_workers.ports import (
    EngineResult,
    OpenEngine,
    OpenTexts,
    SearchEngine,
    SearchError,
    SearchRequest,
    TextStore,
)
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.retrieval import ChunkText
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.logs import get_logger

OPEN_WITHIN_S: Final = 2.0
"""How long a new generation waits for its server before it is served unopened."""
TEXTS_WITHIN_S: Final = 2.0
"""How long one server may take to give texts before the next is asked."""

_log = get_logger("backend-workers.remote")


class RemoteEngine:
    """`SearchEngine` of one generation on a server."""

    def __init__(self, server: Server, card: CorpusCard) -> None:
        self.kind = server.client.kind
        self.operators = server.client.operators
        self._server = server
        self._card = card
        self._engine: SearchEngine | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> SearchEngine:
        """The opened engine; one call at a time asks the server. Raises `SearchError`."""
        if self._engine is None:
            async with self._opening:
                if self._engine is None:
                    self._engine = await self._server.client.open(self._card)
        return self._engine

    async def search(self, request: SearchRequest) -> EngineResult:
        """Search, opening the generation first where that was not possible before."""
        return await (await self.open()).search(request)

    async def count(self) -> int:
        """Chunks in the index."""
        return await (await self.open()).count()

    async def close(self) -> None:
        """Let go of the generation; the server's client stays open."""
        if self._engine is not None:
            await self._engine.close()


class RemoteTexts:
    """`TextStore` of one generation, on the first of several servers that gives an answer."""

    def __init__(self, card: CorpusCard, servers: Sequence[Server]) -> None:
        self._card = card
        self._servers = tuple(servers)

    async def get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """The chunks that exist, in any order; raises the first server's failure where none answers."""
        failures: list[SearchError] = []
        for server in self._servers:
            try:
                async with asyncio.timeout(TEXTS_WITHIN_S):
                    return await server.client.texts(self._card, chunk_ids)
            except TimeoutError:
                failures.append(SearchError(FailureKind.TIMEOUT, f"{server.key} gave no texts in {TEXTS_WITHIN_S:g} s"))
            except SearchError as error:
                failures.append(error)
        raise failures[0]

    async def close(self) -> None:
        """Nothing is open but the servers' clients."""


def engines_on(connections: Connections, embedded: OpenEngine) -> OpenEngine:
    """Opens the card's generation on its server, or the embedded one where the backend is none."""

    async def open_engine(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        server = _server(connections, wiring)
        if server is None:
            return await embedded(card, wiring)
        _check_indexed(card)
        engine = RemoteEngine(server, card)
        try:
            async with asyncio.timeout(OPEN_WITHIN_S):
                await engine.open()
        except TimeoutError:
            _log.warning("remote.not_opened", corpus=card.corpus, backend=str(server.key), error="no answer")
        except SearchError as error:
            _log.warning("remote.not_opened", corpus=card.corpus, backend=str(server.key), error=error.message)
        return engine

    return open_engine


def texts_on(connections: Connections, embedded: OpenTexts) -> OpenTexts:
    """Opens the texts in the data directory, or those on the card's servers where there are none."""

    async def open_texts(card: CorpusCard) -> TextStore:
        try:
            return await embedded(card)
        except SearchError as error:
            servers = tuple(connections.usable(card)) if card.generation is not None else ()
            if error.kind is not FailureKind.NOT_FOUND or not servers:
                raise
            return RemoteTexts(card, servers)

    return open_texts


def _server(connections: Connections, wiring: Wiring) -> Server | None:
    try:
        return connections.of(wiring.kind, wiring.backend)
    except ConfigError as error:
        raise SearchError(FailureKind.CONFIG, str(error)) from error


def _check_indexed(card: CorpusCard) -> None:
    if card.generation is None:
        raise SearchError(FailureKind.NOT_FOUND, f"corpus {card.corpus!r} has no index yet: index it")
