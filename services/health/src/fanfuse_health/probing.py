"""Probes of degraded backends: when one is due or asked for, who sends it, and what it decides.

In: standings, cards, and which pools have a worker. Out: claims and verdicts, written with compare-and-set, so that of
all replicas one probes a backend at a time. A prober that is lost frees its slot when its lease is over.
"""

import asyncio
from collections.abc import Callable, Iterable

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import BackendHealth, Kind
from fanfuse_contracts.health import ProbeReply
from fanfuse_health.domain import probe
from fanfuse_health.domain.presence import Presence, look, returned
from fanfuse_health.domain.rules import Rules
from fanfuse_health.domain.standing import Standing
from fanfuse_health.domain.transitions import claim, may_be_asked, probe_due, settle
from fanfuse_health.monitor import Monitor
from fanfuse_health.ports import BackendKey, Prober
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("health")
_GAUGE = {BackendHealth.HEALTHY: 0.0, BackendHealth.HALF_OPEN: 0.5, BackendHealth.DEGRADED: 1.0}


class Probing:
    """The probes of this replica. `now_s` is a monotonic clock."""

    def __init__(
        self,
        monitor: Monitor,
        prober: Prober,
        cards: Callable[[], Iterable[CorpusCard]],
        workers: Callable[[Kind, str], frozenset[str] | None],
        *,
        instance: str,
        rules: Rules,
        now_s: Callable[[], float],
    ) -> None:
        self._monitor = monitor
        self._prober = prober
        self._cards = cards
        self._workers = workers
        self._instance = instance
        self._rules = rules
        self._now_s = now_s
        self._presence: dict[tuple[Kind, str], Presence] = {}
        self._running: dict[BackendKey, asyncio.Task[None]] = {}
        self._sent = 0

    def tick(self) -> dict[BackendKey, float]:
        """Start what is due. Returns the gauge of every known backend: 1 also while no worker serves it."""
        cards = tuple(self._cards())
        for kind, pool in {(wiring.kind, wiring.pool) for card in cards for wiring in card.backends}:
            workers = self._workers(kind, pool)
            if workers is not None:
                self._presence[kind, pool] = look(self._presence.get((kind, pool)), workers, self._now_s())
        wired = {BackendKey(wiring.kind, wiring.backend) for card in cards for wiring in card.backends}
        return {key: self._look_at(key, cards) for key in wired.union(self._monitor.known)}

    async def ask(self, key: BackendKey) -> ProbeReply:
        """Probe a backend now at somebody's wish, where the rules allow it; returns when the probe has decided."""
        candidates = probe.targets(self._cards(), key.kind, key.backend)
        if not candidates:
            return ProbeReply(state=BackendHealth.HEALTHY, reason="not probed: no corpus is wired with it")
        await self._monitor.refresh()
        standing = self._monitor.standing(key)
        target = probe.choose(candidates, standing.version, self._pool_absent)
        task = self._running.get(key)
        if task is None and target is not None and may_be_asked(standing, self._now_s(), self._rules):
            task = self._running[key] = self._started(key, target, self._returned(standing, candidates))
        if task is not None:
            await asyncio.wait((task,))
        return _told(self._monitor.standing(key), probed=task is not None, no_worker=target is None)

    def _look_at(self, key: BackendKey, cards: tuple[CorpusCard, ...]) -> float:
        candidates = probe.targets(cards, key.kind, key.backend)
        standing = self._monitor.standing(key)
        absent = probe.pools_absent(candidates, self._pool_absent)
        pool_returned = self._returned(standing, candidates)
        # Without a worker, or without a corpus to ask, a probe could only fail: wait for either to come back.
        target = probe.choose(candidates, standing.version, self._pool_absent)
        if (
            target is not None
            and key not in self._running
            and probe_due(standing, self._now_s(), pool_returned, self._rules)
        ):
            self._running[key] = self._started(key, target, pool_returned)
        return 1.0 if absent else _GAUGE[standing.health]

    def _pool_absent(self, kind: Kind, pool: str) -> bool:
        return self._workers(kind, pool) == frozenset()

    def _returned(self, standing: Standing, candidates: tuple[probe.Target, ...]) -> bool:
        pools = {(target.wiring.kind, target.wiring.pool) for target in candidates}
        return any(returned(standing, self._presence[pool]) for pool in pools if pool in self._presence)

    def _started(self, key: BackendKey, target: probe.Target, pool_returned: bool) -> asyncio.Task[None]:
        task = asyncio.create_task(self._probe(key, target, pool_returned))
        task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    async def _probe(self, key: BackendKey, target: probe.Target, pool_returned: bool) -> None:
        try:
            if not await self._monitor.apply(claim(self._monitor.standing(key), self._instance, self._rules)):
                return
            claimed = self._monitor.standing(key)
            verdict = await self._verdict(target)
            settled = settle(claimed, verdict.passed, verdict.reason, self._rules, pool_returned=pool_returned)
            await self._monitor.apply(settled)
        except BusError as error:
            # Nothing is lost: the lease ends, and the next tick of any replica probes again.
            _log.warning("health.probe_broken", kind=key.kind.value, backend=key.backend, error=str(error))

    async def _verdict(self, target: probe.Target) -> probe.Verdict:
        if self._pool_absent(target.wiring.kind, target.wiring.pool):
            return probe.NO_WORKER
        self._sent += 1
        return await self._prober.probe(target, self._sent)

    async def stop(self) -> None:
        """Cancel what runs; the leases end by themselves."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _told(standing: Standing, *, probed: bool, no_worker: bool) -> ProbeReply:
    reason = standing.record.reason if standing.record is not None else "it never had trouble"
    if not probed:
        reason = f"not probed{': no worker serves it' if no_worker else ' now'}; {reason}"
    return ProbeReply(state=standing.health, probed=probed, reason=reason, revision=standing.revision)
