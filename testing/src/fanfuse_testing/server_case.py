"""What a test of an engine server needs: a client, a tenant of its own, generations written and opened.

In: a way to connect. Out: fixtures and builders. What a test made is deleted at its end.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import ClassVar
from uuid import uuid4

import pytest

from fanfuse_backend_workers.ports import SearchEngine, SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerBackend
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_testing.engine_suite import CORPUS
from fanfuse_testing.typed_filters import FIELDS

Connect = Callable[[], ServerBackend]
EMBEDDER = EmbedderSpec(model="suite-model", dimensions=4)
SHAPE = IndexShape(fields={**FIELDS, "mixed": FieldType.STRING}, embedder=EMBEDDER)


def card_of(backend: ServerBackend, key: IndexKey) -> CorpusCard:
    """The card that the registry holds after this generation was published."""
    return CorpusCard(
        tenant=key.tenant,
        corpus=key.corpus,
        generation=key.generation,
        backends=(Wiring(kind=backend.kind, backend="main", pool="main"),),
        embedder=SHAPE.embedder,
        fields=dict(SHAPE.fields),
    )


async def write(backend: ServerBackend, key: IndexKey, chunks: Sequence[Chunk], shape: IndexShape = SHAPE) -> None:
    """Make a generation of `chunks` that is found."""
    await backend.ensure(key, shape)
    for start in range(0, len(chunks), 500):
        await backend.upsert(key, chunks[start : start + 500])
    await backend.refresh(key)


async def found(engine: SearchEngine, asked: SearchRequest) -> list[str]:
    """Chunk ids of the hits."""
    return [hit.chunk_id for hit in (await engine.search(asked)).hits]


async def found_or_refused(engine: SearchEngine, asked: SearchRequest) -> list[str] | None:
    """Chunk ids of the hits; None where the filter was refused with the right kind."""
    try:
        return await found(engine, asked)
    except SearchError as error:
        if error.kind is FailureKind.UNSUPPORTED_FILTER:
            return None
        raise


class ServerCase(ABC):
    """What every group of tests starts from."""

    kind: ClassVar[Kind]

    @pytest.fixture
    @abstractmethod
    def connect(self) -> Connect:
        """Gives a new client of the server under test: every suite says how."""

    @pytest.fixture
    def tenant(self) -> str:
        """A tenant nobody else has."""
        return f"t{uuid4().hex[:12]}"

    @pytest.fixture
    async def backend(self, connect: Connect, tenant: str) -> AsyncIterator[ServerBackend]:
        """A client of the server; the tenant's generations are deleted afterwards."""
        backend = connect()
        yield backend
        await backend.close()
        await delete_all(connect(), tenant)

    @pytest.fixture
    def key(self, tenant: str) -> IndexKey:
        """A generation that does not exist yet."""
        return IndexKey(tenant, CORPUS, "g1")

    async def opened(self, backend: ServerBackend, key: IndexKey, chunks: Sequence[Chunk]) -> SearchEngine:
        """A generation of `chunks`, opened."""
        await write(backend, key, chunks)
        return await backend.open(card_of(backend, key))


async def delete_all(backend: ServerBackend, tenant: str) -> None:
    """Delete every generation of the corpora the suite makes."""
    try:
        for corpus in (CORPUS, f"{CORPUS}-g1", f"{CORPUS}-a", "g1"):
            for generation in await backend.generations(tenant, corpus):
                await backend.delete(IndexKey(tenant, corpus, generation))
    finally:
        await backend.close()
