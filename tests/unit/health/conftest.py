"""A store with compare-and-set in memory, a clock that is moved by hand, and replicas that share the store."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import BackendHealth, FailureKind, Kind
from fanfuse_contracts.health import BackendOutcome, BackendState
from fanfuse_health.domain.probe import Target, Verdict
from fanfuse_health.domain.rules import Rules
from fanfuse_health.domain.standing import Stored
from fanfuse_health.domain.transitions import Transition, record_of
from fanfuse_health.monitor import Monitor
from fanfuse_health.ports import BackendKey
from fanfuse_health.probing import Probing

KEY = BackendKey(Kind.VECTOR, "main")
CARD = CorpusCard(tenant="acme", corpus="docs", backends=(Wiring(kind=Kind.VECTOR, backend="main", pool="main"),))


class Clock:
    """Monotonic seconds, and the wall clock of a machine, which nothing may read for a decision."""

    def __init__(self) -> None:
        self.now = 10_000.0

    def __call__(self) -> float:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class MemoryStore:
    """`StateStore` for several replicas; every call yields to the others first."""

    clock: Clock
    history: list[BackendState] = field(default_factory=list)
    conflicts: int = 0
    _last: dict[BackendKey, tuple[BackendState, int, float]] = field(default_factory=dict)

    async def read_all(self) -> dict[BackendKey, Stored]:
        await asyncio.sleep(0)
        return {key: self._aged(key) for key in self._last}

    async def read(self, key: BackendKey) -> Stored | None:
        await asyncio.sleep(0)
        return self._aged(key) if key in self._last else None

    def _aged(self, key: BackendKey) -> Stored:
        record, revision, at = self._last[key]
        return Stored(record, revision, self.clock() - at)

    async def write(self, transition: Transition) -> Stored | None:
        await asyncio.sleep(0)
        key = BackendKey(transition.kind, transition.backend)
        revision = self._last[key][1] if key in self._last else 0
        if revision != transition.after_revision:
            self.conflicts += 1
            return None
        return self.put(record_of(transition, "2025-01-01T00:00:00+00:00"))

    def put(self, record: BackendState) -> Stored:
        key = BackendKey(record.kind, record.backend)
        self.history.append(record)
        self._last[key] = (record, len(self.history), self.clock())
        return Stored(record, len(self.history), 0.0)

    def rewrite_since(self, since: str) -> None:
        """The same revision, with another time for people to read."""
        record, revision, at = self._last[KEY]
        self._last[KEY] = (record.model_copy(update={"since": since}), revision, at)

    @property
    def states(self) -> list[tuple[BackendHealth, int]]:
        return [(record.state, record.version) for record in self.history]


@dataclass
class SlowProber:
    """`Prober` whose probes last until they are released."""

    running: int = 0
    most: int = 0
    sent: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Verdict = field(default=Verdict(True, "empty"))

    async def probe(self, target: Target, number: int) -> Verdict:
        self.running, self.sent = self.running + 1, self.sent + 1
        self.most = max(self.most, self.running)
        try:
            await self.release.wait()
        finally:
            self.running -= 1
        return self.answer


@dataclass
class Replica:
    """One health service, without a bus."""

    monitor: Monitor
    probing: Probing
    prober: SlowProber

    async def tick(self) -> dict[BackendKey, float]:
        await self.monitor.refresh()
        await self.monitor.judge_all()
        gauges = self.probing.tick()
        for _ in range(20):
            await asyncio.sleep(0)
        return gauges


@dataclass
class World:
    """A clock, a store, and as many replicas as a test wants."""

    clock: Clock = field(default_factory=Clock)
    prober: SlowProber = field(default_factory=SlowProber)
    absent: set[tuple[Kind, str]] = field(default_factory=set)
    workers: frozenset[str] | None = frozenset({"workers-1"})
    """Of every pool that is not absent; None: nobody has listened long enough to know."""
    rules: Rules = field(default_factory=Rules)
    cards: tuple[CorpusCard, ...] = (CARD,)
    key: BackendKey = KEY

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        self._names = 0

    def replica(self) -> Replica:
        self._names += 1
        monitor = Monitor(self.store, self.rules, self.clock)
        monitor.end_replay()
        probing = Probing(
            monitor,
            self.prober,
            cards=lambda: self.cards,
            workers=lambda kind, pool: frozenset() if (kind, pool) in self.absent else self.workers,
            instance=f"health-{self._names}",
            rules=self.rules,
            now_s=self.clock,
        )
        return Replica(monitor, probing, self.prober)

    async def degrade(self, replica: Replica) -> None:
        for _ in range(3):
            await replica.monitor.on_outcome(failed(), 0.0)


def failed(
    kind: FailureKind = FailureKind.TIMEOUT, weight: int = 1, probe: bool = False, age_ms: float = 0.0
) -> BackendOutcome:
    return BackendOutcome(
        kind=KEY.kind, backend=KEY.backend, ok=False, failure=kind, weight=weight, probe=probe, age_ms=age_ms
    )


def succeeded(weight: int = 1, age_ms: float = 0.0) -> BackendOutcome:
    return BackendOutcome(kind=KEY.kind, backend=KEY.backend, ok=True, weight=weight, age_ms=age_ms)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def fail() -> Callable[..., BackendOutcome]:
    return failed


@pytest.fixture
def succeed() -> Callable[..., BackendOutcome]:
    return succeeded
