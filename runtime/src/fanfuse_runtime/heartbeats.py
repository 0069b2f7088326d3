"""Says every second, and at once after a change of the registry, that the services of a process live.

In: the services and whether they are ready. Out: one message per service, with its pools and the registry revision it
has fully applied.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from nats.errors import Error as NatsError

from fanfuse_contracts import flow, limits, subjects
from fanfuse_contracts.health import Heartbeat
from fanfuse_runtime import VERSION
from fanfuse_runtime.context import Context
from fanfuse_runtime.service import Service

_LOOK_EVERY_S = 0.05


class Heartbeats:
    """The heartbeats of one process."""

    def __init__(self, context: Context, services: Sequence[Service], is_ready: Callable[[], bool]) -> None:
        self._context = context
        self._services = services
        self._is_ready = is_ready

    async def run(self) -> None:
        """Send until cancelled."""
        told, due = -1, 0.0
        while True:
            revision = min(map(self._applied, self._services), default=0)
            if time.monotonic() >= due or revision != told:
                told, due = revision, time.monotonic() + limits.HEARTBEAT_EVERY_S
                with suppress(NatsError):
                    await self.send()
            await asyncio.sleep(_LOOK_EVERY_S)

    async def send(self) -> None:
        """One heartbeat per service."""
        for service in self._services:
            service.router.export_in_flight()
            beat = Heartbeat(
                service=service.stage,
                instance=self._context.instance,
                version=VERSION,
                ready=self._is_ready(),
                pools=service.served_pools(),
                registry_revision=self._applied(service),
                in_flight=service.router.in_flight,
            )
            subject = subjects.heartbeat(service.stage, self._context.instance)
            await self._context.bus.send(flow.HEARTBEAT, subject, beat)

    def _applied(self, service: Service) -> int:
        return self._context.corpora.revision if service.applied_revision is None else service.applied_revision()
