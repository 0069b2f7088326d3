"""The same three embedded engines for everybody, each as far away as a server, and in trouble when asked to be.

In: a data directory and a card. Out: engines behind the workers' own port, whose trouble can be changed while they run.
"""

import asyncio
import random
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from fanfuse_backend_workers.adapters.embedded import engines_in
from fanfuse_backend_workers.ports import EngineResult, OpenEngine, SearchEngine, SearchError, SearchRequest
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import Op

TROUBLED: Final = Kind.VECTOR
"""The one engine of three that is in trouble."""
TIMES_SLOWER: Final = 10
_SEED: Final = 8


class Trouble(StrEnum):
    """What is wrong with it."""

    NONE = "none"
    DEAD = "dead"
    SLOW = "slow"
    REFUSING = "refusing"


@dataclass(slots=True)
class Situation:
    """How far away the engines are, and what is wrong with the troubled one."""

    away_s: float
    trouble: Trouble = Trouble.NONE
    _draw: random.Random = field(default_factory=lambda: random.Random(_SEED))

    async def meet(self, kind: Kind) -> None:
        """What happens on the way to an engine. Raises `SearchError`."""
        trouble = self.trouble if kind is TROUBLED else Trouble.NONE
        if trouble is Trouble.DEAD:
            raise SearchError(FailureKind.UNAVAILABLE, "connection refused")
        await asyncio.sleep(self.away_s * (TIMES_SLOWER if trouble is Trouble.SLOW else 1))
        if trouble is Trouble.REFUSING and self._draw.random() < 0.5:
            raise SearchError(FailureKind.OVERLOADED, "too many requests")


class DistantEngine:
    """An embedded engine, seen from afar."""

    def __init__(self, engine: SearchEngine, situation: Situation) -> None:
        self._engine, self._situation = engine, situation
        self.kind: Kind = engine.kind
        self.operators: frozenset[Op] = engine.operators

    async def search(self, request: SearchRequest) -> EngineResult:
        """Search after the way there."""
        await self._situation.meet(self.kind)
        return await self._engine.search(request)

    async def count(self) -> int:
        """Chunks in the index."""
        return await self._engine.count()

    async def close(self) -> None:
        """Release it."""
        await self._engine.close()


def distant_engines(data_dir: Path, situation: Situation) -> OpenEngine:
    """Opens the engines of a data directory."""
    open_embedded = engines_in(data_dir)

    async def open_engine(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        return DistantEngine(await open_embedded(card, wiring), situation)

    return open_engine
