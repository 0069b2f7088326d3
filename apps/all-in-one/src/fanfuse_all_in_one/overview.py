"""One look at a whole deployment: who is alive, what waits, how backends stand, how often answers fell back.

In: an operator's connection. Out: frozen data, for a screen or as JSON. It changes nothing.
"""

from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nats.errors import Error as NatsError

from fanfuse_all_in_one.databus import store_fault
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.marking import BackendStanding, backend_standings
from fanfuse_all_in_one.operating import Operator, StreamLoad
from fanfuse_all_in_one.quality import CorpusQuality, QualityReader
from fanfuse_contracts import streams
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FallbackReason, Stage
from fanfuse_contracts.health import Heartbeat, RecentAnswers
from fanfuse_runtime.corpus_store import Registered
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.masking import mask

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceRow:
    """All replicas of one service."""

    service: Stage
    ready: int
    replicas: int
    versions: tuple[str, ...]
    in_flight: int
    registry_revision: int
    """The lowest of its replicas."""
    pools: tuple[str, ...]
    """`kind/pool`, with what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What one look saw."""

    instances: tuple[Heartbeat, ...]
    streams: tuple[StreamLoad, ...]
    backends: tuple[BackendStanding, ...]
    cards: tuple[CorpusCard, ...]
    quality: tuple[CorpusQuality, ...] = ()
    """What each lane of a corpus contributed to answers lately."""
    faults: tuple[str, ...] = ()
    """What could not be read, each with where it stands and what to do; the rest is what it is."""

    @property
    def services(self) -> tuple[ServiceRow, ...]:
        """One row per service that has a live instance, in the order of the flow."""
        found = ((stage, [beat for beat in self.instances if beat.service is stage]) for stage in Stage)
        return tuple(_row(stage, beats) for stage, beats in found if beats)

    @property
    def missing(self) -> tuple[Stage, ...]:
        """Services of which no instance is alive."""
        alive = {beat.service for beat in self.instances}
        return tuple(stage for stage in Stage if stage not in alive)

    @property
    def answers(self) -> RecentAnswers:
        """Answers of all processes lately; a process that runs several services counts once."""
        recent = {beat.instance: beat.recent for beat in self.instances if beat.recent is not None}.values()
        fallbacks: Counter[FallbackReason] = Counter()
        for one in recent:
            fallbacks.update(one.fallbacks)
        return RecentAnswers(
            window_s=max((one.window_s for one in recent), default=0.0),
            answers=sum(one.answers for one in recent),
            fallbacks=dict(fallbacks),
        )

    @property
    def fallback_rate(self) -> float | None:
        """Share of the recent answers that fell back on keywords; None while there is none."""
        recent = self.answers
        return sum(recent.fallbacks.values()) / recent.answers if recent.answers else None


def _row(stage: Stage, beats: Iterable[Heartbeat]) -> ServiceRow:
    found = list(beats)
    pools: dict[str, set[str]] = {}
    for beat in found:
        for pool in beat.pools:
            notes = pools.setdefault(f"{pool.kind.value}/{pool.pool}", set())
            if pool.under_pressure:
                notes.add("under pressure")
            if pool.cold:
                notes.add(f"{len(pool.cold)} cold")
            notes.update(f"engine {name} not usable: see the log of its workers" for name in pool.unusable)
    return ServiceRow(
        service=stage,
        ready=sum(beat.ready for beat in found),
        replicas=len(found),
        versions=tuple(sorted({beat.version for beat in found})),
        in_flight=sum(beat.in_flight for beat in found),
        registry_revision=min(beat.registry_revision for beat in found),
        pools=tuple(f"{pool} ({', '.join(sorted(notes))})" if notes else pool for pool, notes in sorted(pools.items())),
    )


async def look(operator: Operator, quality: QualityReader | None = None) -> Overview:
    """Everything as it is now; waits until every instance had time to be heard once.

    `quality`: the reader of the last look; who looks again and again reads only what is new.
    """
    quality = quality or QualityReader(operator.bus)
    sections = _Sections(operator)
    instances = await sections.read("services", operator.alive())
    loads = await sections.read("streams", operator.stream_loads())
    backends = await sections.read("backends", backend_standings(operator))
    registered = await sections.read("corpora", operator.registered())
    contributed = await sections.read("quality of lanes", quality.read())
    unreadable = (*map(_unreadable_state, backends), *map(_unreadable_card, registered))
    return Overview(
        instances=tuple(instances),
        streams=tuple(loads),
        backends=tuple(backends),
        cards=tuple(each.card for each in registered if each.card is not None),
        quality=tuple(contributed),
        faults=(*sections.faults, *filter(None, (*unreadable, _store_fault(operator)))),
    )


class _Sections:
    """Reads each part of an overview by itself: one that can't be read hides no other."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.faults: list[str] = []

    async def read(self, name: str, reading: Awaitable[Sequence[T]]) -> Sequence[T]:
        """The part, empty where it can't be read. Raises what the loss of the connection raises."""
        try:
            async with self._operator.connection.allowed():
                return await reading
        except (BusError, NatsError, OperatorError, TimeoutError) as error:
            if not self._operator.bus.nc.is_connected:
                raise
            self.faults.append(f"{name} can't be read: {mask(str(error)) or type(error).__name__}")
            return ()


def _store_fault(operator: Operator) -> str | None:
    """Of a bus in the command's own data directory. Of another one nothing on the bus tells: streams and account look
    as they did, and only the server's log and its `/healthz` say so."""
    fault = store_fault(operator.data_dir, operator.connection.url)
    if fault is None:
        return None
    return f"the bus stores nothing: {fault}. Is the disk full? Make room, then end `fanfuse up` and start it again"


def _unreadable_state(each: BackendStanding) -> str | None:
    if not each.unreadable:
        return None
    key = f"{each.kind.value}/{each.backend}"
    bucket = streams.BACKEND_STATE.name
    return (
        f"bucket {bucket}, key {streams.backend_key(each.kind, each.backend)} can't be read ({each.unreadable}): the "
        f"backend counts as healthy; `fanfuse health clear {key}` writes it anew"
    )


def _unreadable_card(each: Registered) -> str | None:
    if each.fault is None:
        return None
    return f"registry of corpora, key {streams.corpus_key(each.fault.tenant, each.fault.corpus)}: {each.fault}"
