"""The port of an engine server: one client per configured backend and process, shared by every corpus on it.

In: settings and chunks. Out: engines opened for one generation, texts, counts. Every failure is a `SearchError` with a
typed kind; no message holds a secret or the text of a chunk. No path ever deletes or recreates what it does not own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import SecretStr

from fanfuse_backend_workers.ports import SearchEngine
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.filters import Op
from fanfuse_contracts.retrieval import ChunkText


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to reach one server."""

    url: str
    username: str | None = None
    password: SecretStr | None = None
    api_key: SecretStr | None = None
    ca_file: Path | None = None
    namespace: str = "fanfuse"
    """What every index, collection or label of this installation begins with: one token."""
    database: str = "neo4j"
    """Neo4j only."""
    connections: int = 16
    """Most sockets to the server; waiting for one counts against the lane's time."""


class IndexKey(NamedTuple):
    """One generation of one corpus."""

    tenant: str
    corpus: str
    generation: str


@dataclass(frozen=True, slots=True)
class IndexShape:
    """What an index must be made for."""

    fields: Mapping[str, FieldType]
    """Filterable metadata, by name."""
    embedder: EmbedderSpec | None = None
    """Of vector servers."""


class ServerBackend(Protocol):
    """One engine server, for any number of corpora. All calls may run at once; cancelling one harms no other."""

    kind: Kind
    operators: frozenset[Op]
    """Filter operators applied exactly; any other raises `SearchError(UNSUPPORTED_FILTER)`."""

    async def ensure(self, key: IndexKey, shape: IndexShape) -> None:
        """Make the index of a generation, or check that it fits. Idempotent. Raises CONFIG where it does not fit."""
        ...

    async def upsert(self, key: IndexKey, chunks: Sequence[Chunk]) -> None:
        """Write one batch (at most 500 chunks); a chunk written twice is there once. Not visible before `refresh`."""
        ...

    async def delete(self, key: IndexKey, chunk_ids: Sequence[str] | None = None) -> int:
        """Delete these chunks of a generation, or all of it (None); returns how many there were."""
        ...

    async def refresh(self, key: IndexKey) -> None:
        """Return when everything written is found."""
        ...

    async def count(self, key: IndexKey) -> int:
        """Chunks of a generation; raises NOT_FOUND where it does not exist."""
        ...

    async def publish(self, key: IndexKey) -> None:
        """Make the corpus's alias, where the engine has one, point to this generation. The last step of a run."""
        ...

    async def generations(self, tenant: str, corpus: str) -> tuple[str, ...]:
        """Generations of a corpus that exist, sorted."""
        ...

    async def open(self, card: CorpusCard) -> SearchEngine:
        """The engine of the card's generation. Raises NOT_FOUND where it does not exist, CONFIG where its vectors do
        not fit the card. Closing it leaves the server's client open."""
        ...

    async def texts(self, card: CorpusCard, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """The chunks of the card's generation that exist, in any order."""
        ...

    async def health(self) -> None:
        """Return if the server answers and lets this user search; raises `SearchError` otherwise."""
        ...

    async def close(self) -> None:
        """Close the client. Twice is no error."""
        ...
