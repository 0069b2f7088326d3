"""The first search of every engine and the first vector of every embedder, before the process is ready.

The first query of a cold process is many times slower. What fails here is only logged: a broken corpus must not keep
the others from being served.
"""

from typing import Final

from fanfuse_backend_workers.catalog import Catalog, EngineKey, OpenCorpus
from fanfuse_backend_workers.domain.requests import embedder_for_text
from fanfuse_backend_workers.embedding import QueryEmbedding
from fanfuse_backend_workers.ports import OpenEngine, SearchEngine, SearchError, SearchRequest
from fanfuse_backend_workers.worker import ask
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.logs import get_logger

TEXT: Final = "warm up"
_TIMEOUT_S: Final = 30.0
_SEARCH_TIMEOUT_S: Final = 5.0

_log = get_logger("backend-workers.warming")


async def warm_up(catalog: Catalog, embedding: QueryEmbedding) -> None:
    """Open everything and use it once. A backend that is down is asked once, whatever the number of its corpora."""
    await catalog.start()
    down: set[tuple[Kind, str]] = set()
    for key in catalog.engines:
        if (key.kind, key.backend) in down:
            continue
        try:
            with await catalog.engine(key) as opened:
                await _search_once(key, opened, embedding)
        except SearchError as error:
            _log.warning("warm_up.failed", corpus=key.corpus, backend=key.backend, error=error.message)
            if error.kind.counts_against_backend:
                down.add((key.kind, key.backend))


def opened_warm(open_engine: OpenEngine, embedding: QueryEmbedding) -> OpenEngine:
    """The same engines, with the embedder of a vector engine loaded too: a corpus that arrives later is not cold."""

    async def open_warm(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        engine = await open_engine(card, wiring)
        if wiring.kind is Kind.VECTOR:
            try:
                await _vector(card, embedding)
            except SearchError as error:
                _log.warning("warm_up.failed", corpus=card.corpus, backend=wiring.backend, error=error.message)
        return engine

    return open_warm


async def _search_once(key: EngineKey, opened: OpenCorpus, embedding: QueryEmbedding) -> None:
    vector = await _vector(opened.card, embedding) if key.kind is Kind.VECTOR else None
    request = SearchRequest(key.tenant, key.corpus, TEXT, 1, _SEARCH_TIMEOUT_S, vector=vector, seeds=(TEXT,))
    await ask(opened.engine, request)


async def _vector(card: CorpusCard, embedding: QueryEmbedding) -> tuple[float, ...]:
    if card.embedder is not None and not card.embedder.local:
        return (1.0, *(0.0,) * (card.embedder.dimensions - 1))
    return await embedding.vector(embedder_for_text(card, TEXT), TEXT, _TIMEOUT_S)
