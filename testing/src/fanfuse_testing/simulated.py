"""Engines that do nothing but take time: every search answers ten hits after a delay.

They stand behind the worker's own ports, so everything but the search is the shipped code. The three kinds share half
of their hits with the next, so that fusion has something to join.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from fanfuse_backend_workers.ports import Embedder, EngineHit, EngineResult, SearchEngine, SearchRequest, TextStore
from fanfuse_backend_workers.service import build_with
from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.filters import Op
from fanfuse_contracts.retrieval import ChunkText
from fanfuse_runtime.service import ServiceFactory

TENANT: Final = "bench"
CORPUS: Final = "docs"
HITS: Final = 10
MODEL: Final = EmbedderSpec(model="simulated", dimensions=384)
CARD: Final = CorpusCard(
    tenant=TENANT,
    corpus=CORPUS,
    public=True,
    generation="g1",
    embedder=MODEL,
    chunks=20,
    backends=tuple(Wiring(kind=kind, backend="main", pool="main") for kind in Kind),
)
KEYWORD_CARD: Final = CARD.model_copy(
    update={"backends": tuple(wiring for wiring in CARD.backends if wiring.kind is Kind.KEYWORD)}
)
_FIRST: Final = {kind: number * HITS // 2 for number, kind in enumerate(Kind)}
_TEXT: Final = "A paragraph of about six hundred characters, as a splitter makes them from prose. " * 7
_VECTOR: Final = [1.0] + [0.001] * 383


@dataclass(frozen=True, slots=True)
class Delay:
    """How long a search takes: evenly drawn between two times, in seconds."""

    low_s: float
    high_s: float

    @classmethod
    def parse_ms(cls, text: str) -> Self:
        """`5` or `5-50`, in milliseconds."""
        low, _, high = text.partition("-")
        return cls(float(low) / 1e3, float(high or low) / 1e3)


@dataclass(slots=True)
class SimulatedEngine:
    """One corpus on one backend."""

    kind: Kind
    delay: Delay
    operators: frozenset[Op] = frozenset()
    _random: random.Random = field(default_factory=random.Random)

    async def search(self, request: SearchRequest) -> EngineResult:
        """Ten hits, whatever is asked."""
        await asyncio.sleep(self._random.uniform(self.delay.low_s, self.delay.high_s))
        return _RESULTS[self.kind]

    async def count(self) -> int:
        """As on the card."""
        return CARD.chunks

    async def close(self) -> None:
        """Nothing is open."""


def _hit(number: int, score: float) -> EngineHit:
    return EngineHit(
        f"handbook/chapter-{number}.md#0", score, f"{number:016x}", f"Chapter {number}: a title of its own"
    )


_RESULTS: Final = {
    kind: EngineResult(tuple(_hit(first + rank, 1.0 / (1 + rank)) for rank in range(HITS)))
    for kind, first in _FIRST.items()
}
"""Made once: an engine of another process costs this one nothing while it searches."""


class SimulatedTexts:
    """The same paragraph for every chunk."""

    async def get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """All of them."""
        return [ChunkText(chunk_id=chunk_id, text=_TEXT, source=chunk_id.partition("#")[0]) for chunk_id in chunk_ids]

    async def close(self) -> None:
        """Nothing is open."""


class SimulatedEmbedder:
    """One vector for every text, at no cost."""

    model = MODEL.model
    dimensions = MODEL.dimensions
    languages: tuple[str, ...] | None = None

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text."""
        return [_VECTOR for _ in texts]

    def embed_query(self, _text: str) -> list[float]:
        """The one vector."""
        return _VECTOR


def simulated_workers(delay: Delay, others: Mapping[Kind, Delay] | None = None) -> ServiceFactory:
    """The shipped workers on simulated engines; `others`: kinds that take another time."""
    delays = dict.fromkeys(Kind, delay) | dict(others or {})

    async def open_engine(_card: CorpusCard, wiring: Wiring) -> SearchEngine:
        return SimulatedEngine(wiring.kind, delays[wiring.kind])

    async def open_texts(_card: CorpusCard) -> TextStore:
        return SimulatedTexts()

    def load_embedder(_spec: EmbedderSpec) -> Embedder:
        return SimulatedEmbedder()

    return build_with(
        open_engine=open_engine, open_texts=open_texts, load_embedder=load_embedder, settings=WorkerSettings()
    )
