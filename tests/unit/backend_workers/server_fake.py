"""A `ServerBackend` in memory whose calls a test may have fail: for faults that real servers don't give on demand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchEngine, SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, IndexShape
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import Op
from fanfuse_contracts.retrieval import ChunkText


@dataclass
class FakeServer:
    """Every chunk of a generation is a hit. `failures`: what the next calls of a name raise, in order."""

    kind: Kind = Kind.KEYWORD
    operators: frozenset[Op] = frozenset(Op)
    indexes: dict[IndexKey, dict[str, Chunk]] = field(default_factory=dict)
    failures: dict[str, list[SearchError]] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    loses: int = 0
    """Chunks that are acknowledged and not kept."""
    down: bool = False

    def _called(self, name: str) -> None:
        self.calls[name] += 1
        if self.down:
            raise SearchError(FailureKind.UNAVAILABLE, "it is down")
        if self.failures.get(name):
            raise self.failures[name].pop(0)

    async def ensure(self, key: IndexKey, shape: IndexShape) -> None:
        self._called("ensure")
        self.indexes.setdefault(key, {})

    async def upsert(self, key: IndexKey, chunks: Sequence[Chunk]) -> None:
        self._called("upsert")
        kept = list(chunks)[self.loses :]
        self.loses = 0
        self.indexes[key] |= {chunk.chunk_id: chunk for chunk in kept}

    async def delete(self, key: IndexKey, chunk_ids: Sequence[str] | None = None) -> int:
        self._called("delete")
        return len(self.indexes.pop(key, {}))

    async def refresh(self, key: IndexKey) -> None:
        self._called("refresh")

    async def count(self, key: IndexKey) -> int:
        self._called("count")
        return len(self.indexes[key])

    async def publish(self, key: IndexKey) -> None:
        self._called("publish")

    async def generations(self, tenant: str, corpus: str) -> tuple[str, ...]:
        self._called("generations")
        return tuple(sorted(key.generation for key in self.indexes if key[:2] == (tenant, corpus)))

    async def open(self, card: CorpusCard) -> SearchEngine:
        self._called("open")
        return FakeIndex(self, card)

    async def texts(self, card: CorpusCard, chunk_ids: Sequence[str]) -> list[ChunkText]:
        self._called("texts")
        return [ChunkText(chunk_id=name, text=f"text of {name}", source="s") for name in chunk_ids]

    async def health(self) -> None:
        self._called("health")

    async def close(self) -> None:
        self._called("close")


class FakeIndex:
    def __init__(self, server: FakeServer, card: CorpusCard) -> None:
        self.kind, self.operators = server.kind, server.operators
        self._server, self._card = server, card

    async def search(self, request: SearchRequest) -> EngineResult:
        self._server._called("search")
        return EngineResult((EngineHit(str(self._card.generation), 1.0, "0"),))

    async def count(self) -> int:
        return self._card.chunks

    async def close(self) -> None:
        """The server's client stays open."""
