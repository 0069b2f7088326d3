"""Carries out planned faults on real processes and the real broker, and brings everything back.

In: a schedule. Effects: signals, and starts of what was ended. Out: what was really done.
"""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Iterable

from fanfuse_runtime.server import NatsServer
from fanfuse_testing.faults.cluster import NatsCluster
from fanfuse_testing.faults.disk import SmallDisk
from fanfuse_testing.faults.schedule import Fault, FaultKind
from fanfuse_testing.processes import Processes, ServiceProcess


class Havoc:
    """The faults of one run."""

    def __init__(self, processes: Processes, server: NatsServer | NatsCluster, disk: SmallDisk | None = None) -> None:
        self._processes = processes
        self._server = server
        self._disk = disk
        self._mending: set[asyncio.Task[None]] = set()
        self.done: Counter[tuple[FaultKind, str]] = Counter()
        self._rolling = asyncio.Lock()  # one successor at a time, however long each takes to be ready
        self.drained_s: list[float] = []
        """From SIGTERM to the end of each process that was replaced."""

    async def run(self, faults: Iterable[Fault]) -> None:
        """Each fault at its time; returns when all are mended and every process is ready again."""
        began = time.monotonic()
        for fault in faults:
            await asyncio.sleep(max(0.0, began + fault.at_s - time.monotonic()))
            mending = asyncio.create_task(self._do(fault))
            self._mending.add(mending)
        await asyncio.gather(*self._mending)
        await self._processes.ready()

    async def _do(self, fault: Fault) -> None:
        match fault.kind:
            case FaultKind.BROKER:
                await self._break_broker(fault.for_s)
            case FaultKind.DISK:
                await self._fill_disk(fault.for_s)
            case FaultKind.KILL:
                await self._kill(fault)
            case FaultKind.FREEZE:
                await self._freeze(fault)
            case FaultKind.ROLL:
                await self._roll(fault)

    def _note(self, fault: Fault, victim: str) -> None:
        self.done[fault.kind, victim] += 1

    async def _kill(self, fault: Fault) -> None:
        victim = self._processes.started[fault.victim]
        if not victim.running:
            return
        victim.kill()
        self._note(fault, victim.name)
        await asyncio.sleep(fault.for_s)
        victim.start()

    async def _freeze(self, fault: Fault) -> None:
        victim = self._processes.started[fault.victim]
        if not _signal(victim, signal.SIGSTOP):
            return
        self._note(fault, victim.name)
        await asyncio.sleep(fault.for_s)
        _signal(victim, signal.SIGCONT)

    async def _roll(self, fault: Fault) -> None:
        async with self._rolling:
            self.drained_s.append(await self._processes.replace(fault.victim, fault.for_s))
        self._note(fault, fault.victim)

    async def _break_broker(self, for_s: float) -> None:
        if not self._server.is_alive:
            return
        self._server.kill()
        self.done[FaultKind.BROKER, "broker"] += 1
        await asyncio.sleep(for_s)
        self._server.start()

    async def _fill_disk(self, for_s: float) -> None:
        assert self._disk is not None, "the fleet has no disk of its own"
        self._disk.fill()
        self.done[FaultKind.DISK, "broker"] += 1
        await asyncio.sleep(for_s)
        self._disk.free()
        self._server.stop()
        self._server.start()


def _signal(victim: ServiceProcess, number: signal.Signals) -> bool:
    """False if the process is gone."""
    if not victim.running or victim.popen is None:
        return False
    os.kill(victim.popen.pid, number)
    return True
