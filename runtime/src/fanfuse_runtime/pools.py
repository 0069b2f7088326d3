"""Who is alive: heartbeats sent and heard.

A pool with no heartbeat for three seconds is absent, which a router knows before a query pays a timeout. Until a view
has listened that long itself, nothing counts as absent.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from pydantic import ValidationError

from fanfuse_contracts import limits, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.health import ColdLane, Heartbeat, ServedPool
from fanfuse_runtime.bus import Bus

_BEAT_S: Final = 1.2 * limits.HEARTBEAT_EVERY_S
"""A live instance is heard within it."""
_READ_LATE_S: Final = 0.5
"""A beat that was sent before its instance died may be read so much later."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The last heartbeat of one instance and when it was heard (local monotonic seconds)."""

    heartbeat: Heartbeat
    at: float


@dataclass(frozen=True, slots=True)
class PoolLook:
    """What the heartbeats of a pool's ready workers say."""

    absent: bool = False
    """No ready worker serves it."""
    cold: frozenset[ColdLane] = frozenset()
    """What none of them has opened yet."""
    under_pressure: bool = False
    """Some worker holds a command that has used up more than half of its budget."""


class PoolsView:
    """Every live instance, by (service, instance)."""

    def __init__(self, bus: Bus, clock: Callable[[], float] = time.monotonic) -> None:
        self._bus = bus
        self._clock = clock
        self._seen: dict[tuple[str, str], Seen] = {}
        self._started = clock()
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Listen."""
        self._started = self._clock()
        self._subscription = await self._bus.nc.subscribe(subjects.HEARTBEAT, cb=self._on_heartbeat)

    async def stop(self) -> None:
        """Stop listening."""
        if self._subscription is not None and not self._bus.nc.is_closed:
            await self._subscription.unsubscribe()

    def forget_time(self) -> None:
        """After a reconnect: silence while the broker was away proves nothing."""
        self._started = self._clock()

    async def _on_heartbeat(self, msg: Msg) -> None:
        try:
            self.observe(Heartbeat.from_json(msg.data))
        except ValidationError:
            return  # of a version this one can't read: not a sign of life it can use

    def observe(self, heartbeat: Heartbeat) -> None:
        """Take in one heartbeat; one that is not ready takes its instance out."""
        key = (heartbeat.service.value, heartbeat.instance)
        self._seen[key] = Seen(heartbeat, self._clock())

    @property
    def alive(self) -> tuple[Heartbeat, ...]:
        """The last heartbeat of every instance heard from within three seconds, sorted."""
        oldest = self._clock() - limits.ABSENT_AFTER_S
        for key in [key for key, seen in self._seen.items() if seen.at < oldest]:
            del self._seen[key]
        return tuple(self._seen[key].heartbeat for key in sorted(self._seen))

    def absent(self, kind: Kind, pool: str) -> bool:
        """True if no ready worker serves this pool and this view has listened long enough to know."""
        return self.look(kind, pool).absent

    def lives(self, kind: Kind, pool: str, waited_s: float) -> bool:
        """True if a worker of this pool was heard while somebody waited for it so long (a beat at least), or was so
        busy that its beats may be late."""
        since = self._clock() - max(waited_s - _READ_LATE_S, _BEAT_S)
        return any(seen.at >= since or served.under_pressure for seen, served in self._serving(kind, pool))

    def workers(self, kind: Kind, pool: str) -> frozenset[str] | None:
        """The ready instances that serve a pool; None while this view has not listened long enough to know of none."""
        instances = frozenset(seen.heartbeat.instance for seen, _ in self._serving(kind, pool))
        return instances if instances or self._has_listened() else None

    def look(self, kind: Kind, pool: str) -> PoolLook:
        """What is known of a pool now."""
        serving = [served for _, served in self._serving(kind, pool)]
        if not serving:
            return PoolLook(absent=self._has_listened())
        cold = frozenset.intersection(*(frozenset(served.cold) for served in serving))
        return PoolLook(cold=cold, under_pressure=any(served.under_pressure for served in serving))

    def _serving(self, kind: Kind, pool: str) -> list[tuple[Seen, ServedPool]]:
        oldest = self._clock() - limits.ABSENT_AFTER_S
        return [
            (seen, served)
            for seen in self._seen.values()
            if seen.at >= oldest and seen.heartbeat.ready
            for served in seen.heartbeat.pools
            if served.kind is kind and served.pool == pool
        ]

    def _has_listened(self) -> bool:
        return self._clock() - self._started >= limits.ABSENT_AFTER_S
