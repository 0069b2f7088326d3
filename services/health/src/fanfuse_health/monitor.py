"""From outcomes to stored transitions, for every backend, in one replica.

In: outcomes with their age, and what the store holds. Out: transitions written with compare-and-set; where another
replica was first, its state is taken over. Never writes without the domain having decided so.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from fanfuse_contracts.enums import BackendHealth
from fanfuse_contracts.health import BackendOutcome
from fanfuse_health.domain.rules import Rules
from fanfuse_health.domain.standing import Standing, Stored, adopt
from fanfuse_health.domain.transitions import Transition, judge
from fanfuse_health.domain.window import Window, counts, earlier, observe, restart
from fanfuse_health.ports import BackendKey, StateStore
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("health")


@dataclass(slots=True)
class Watched:
    """What one replica knows of one backend."""

    standing: Standing
    window: Window = field(default_factory=Window)


class Monitor:
    """The windows and standings of this replica. `now_s` is a monotonic clock."""

    def __init__(self, store: StateStore, rules: Rules, now_s: Callable[[], float]) -> None:
        self._store = store
        self._rules = rules
        self._now_s = now_s
        self._watched: dict[BackendKey, Watched] = {}
        self._replayed = False
        self._oldest_is_next = False

    @property
    def known(self) -> tuple[BackendKey, ...]:
        """Every backend with an outcome or a stored state."""
        return tuple(self._watched)

    def standing(self, key: BackendKey) -> Standing:
        """Where a backend stands."""
        return self._of(key).standing

    def _of(self, key: BackendKey) -> Watched:
        if key not in self._watched:
            self._watched[key] = Watched(Standing(key.kind, key.backend))
        return self._watched[key]

    def begin_replay(self) -> None:
        """Outcomes are read from the oldest again. Half a replay is not judged: its successes are still to come.

        What is older than the oldest outcome that is read stays known: a stream in memory begins anew with its broker,
        and the first failures after that must not be all that a window holds.
        """
        self._replayed, self._oldest_is_next = False, True

    def end_replay(self) -> None:
        """The stream is read to its end: windows are whole, and the next tick judges them."""
        self._replayed, self._oldest_is_next = True, False

    async def on_outcome(self, outcome: BackendOutcome, age_s: float) -> None:
        """Enter one outcome and act on it."""
        key = BackendKey(outcome.kind, outcome.backend)
        watched, now_s = self._of(key), self._now_s()
        at_s = now_s - max(0.0, age_s)
        self._begin_from(at_s)
        watched.window = observe(watched.window, outcome, at_s, now_s, self._rules.window_s)
        if self._replayed and not outcome.ok and counts(outcome):
            try:
                await self._judge(key)
            except BusError as error:
                # Reading goes on; `judge_all` of the next tick tries again.
                _log.warning("health.transition_postponed", kind=key.kind, backend=key.backend, error=str(error))

    def _begin_from(self, at_s: float) -> None:
        if self._oldest_is_next:
            self._oldest_is_next = False
            for watched in self._watched.values():
                watched.window = earlier(watched.window, at_s)

    async def judge_all(self) -> None:
        """Judge every backend: catches up on a transition that could not be written before."""
        if self._replayed:
            for key in self.known:
                await self._judge(key)

    async def _judge(self, key: BackendKey) -> None:
        watched = self._of(key)
        transition = judge(watched.standing, watched.window, self._now_s(), self._rules)
        if transition is not None and not await self.apply(transition):
            # Another replica was first; what it wrote is now known, so this either finds nothing to do or a new reason.
            again = judge(watched.standing, watched.window, self._now_s(), self._rules)
            if again is not None:
                await self.apply(again)

    async def apply(self, transition: Transition) -> bool:
        """Write a transition; False, and the store's state taken over, if another one was first."""
        key = BackendKey(transition.kind, transition.backend)
        written = await self._store.write(transition)
        stored = written if written is not None else await self._store.read(key)
        if stored is not None:
            self._adopt(key, stored)
        if written is not None:
            log = _log.warning if transition.state is BackendHealth.DEGRADED else _log.info
            log(
                "health.transition",
                kind=key.kind.value,
                backend=key.backend,
                state=transition.state.value,
                version=transition.version,
                reason=transition.reason,
            )
        return written is not None

    async def refresh(self) -> None:
        """Take over what the store holds."""
        for key, stored in (await self._store.read_all()).items():
            self._adopt(key, stored)

    def _adopt(self, key: BackendKey, stored: Stored) -> None:
        watched = self._of(key)
        adopted = adopt(watched.standing, stored, self._now_s())
        if adopted.revision != watched.standing.revision:
            watched.window = restart(watched.window, adopted.entered_s)
        watched.standing = adopted
