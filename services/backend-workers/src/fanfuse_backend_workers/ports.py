"""What the workers need from an engine, an embedder and a text store.

One search port for every engine, embedded or remote. A failure is a `SearchError` with a typed kind, never an empty
list.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import Filter, Op
from fanfuse_contracts.retrieval import ChunkText


class InvalidChunkError(ValueError):
    """A chunk can not be indexed; the message names it."""


class IndexWriteError(Exception):
    """An embedded engine could not write an index, as on a full disk; the message is the engine's."""


class SearchError(Exception):
    """A search failed for a typed reason."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search in one corpus. `vector` is set for vector engines, `seeds` for graph engines."""

    tenant: str
    corpus: str
    text: str
    window: int
    timeout_s: float
    identifiers: tuple[str, ...] = ()
    vector: tuple[float, ...] | None = None
    seeds: tuple[str, ...] = ()
    filter: Filter | None = None


@dataclass(frozen=True, slots=True)
class EngineHit:
    """One hit as the engine gave it, best first."""

    chunk_id: str
    score: float
    content_hash: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class EngineResult:
    """Hits, best first; `cut` names why the list is shorter than what matches (a bound, a timeout), else None.

    `dropped` counts hits refused before ranking: no chunk id, or a score that is not finite.
    """

    hits: tuple[EngineHit, ...]
    cut: str | None = None
    dropped: int = 0


class SearchEngine(Protocol):
    """One corpus on one backend, opened for reading."""

    kind: Kind
    operators: frozenset[Op]
    """Filter operators applied exactly; any other raises `SearchError(UNSUPPORTED_FILTER)`."""

    async def search(self, request: SearchRequest) -> EngineResult:
        """Search; tenant, corpus and filter are applied inside the engine. Raises `SearchError`."""
        ...

    async def count(self) -> int:
        """Chunks in the index."""
        ...

    async def close(self) -> None:
        """Release files, sockets and threads."""
        ...


class IndexBuilder(Protocol):
    """Builds and opens generations of one embedded engine."""

    kind: Kind
    operators: frozenset[Op]

    def build(self, directory: Path, tenant: str, corpus: str, chunks: Iterable[Chunk]) -> int:
        """Write a complete index into an empty directory; returns the number of chunks. Blocking: call in a thread."""
        ...

    async def open(self, directory: Path) -> SearchEngine:
        """Open a generation for reading (through a private copy where the engine locks its files)."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. Blocking calls that release the GIL: run them in a thread."""

    model: str
    dimensions: int
    languages: tuple[str, ...] | None

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query (with the model's query prefix, if it has one)."""
        ...


class TextStore(Protocol):
    """Texts of one corpus generation."""

    async def get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """The chunks that exist, in any order; an id that is not returned does not exist. Raises `SearchError`."""
        ...

    async def close(self) -> None:
        """Release what is open."""
        ...


OpenEngine = Callable[[CorpusCard, Wiring], Awaitable[SearchEngine]]
"""Opens the card's generation on one of its backends. Raises `SearchError`: NOT_FOUND where there is no such index."""
OpenTexts = Callable[[CorpusCard], Awaitable[TextStore]]
"""Opens the texts of the card's generation. Raises `SearchError`: NOT_FOUND where there are none here."""
LoadEmbedder = Callable[[EmbedderSpec], Embedder | None]
"""Loads the model a card names; None where only callers have its vectors. Blocking: call in a thread. Raises
`SearchError(CONFIG)` where it is not to be had."""
