"""One look at a whole deployment: who is alive, what waits, how backends stand, how often answers fell back.

In: an operator's connection. Out: frozen data, for a screen or as JSON. It changes nothing.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fanfuse_all_in_one.marking import BackendStanding, backend_standings
from fanfuse_all_in_one.operating import Operator, StreamLoad
from fanfuse_all_in_one.quality import CorpusQuality, QualityReader
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FallbackReason, Stage
from fanfuse_contracts.health import Heartbeat, RecentAnswers


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
    return Overview(
        instances=await operator.alive(),
        streams=tuple(await operator.stream_loads()),
        backends=await backend_standings(operator),
        cards=tuple(await operator.cards()),
        quality=await quality.read(),
    )
