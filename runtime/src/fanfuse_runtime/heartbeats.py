"""Says every second, and at once after a change that others wait for, that the services of a process live.

In: the services and whether they are ready. Out: one message per service, with its pools and the registry revision it
has fully applied; the same message is its answer to `$SRV.INFO`.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from nats.errors import Error as NatsError

from fanfuse_contracts import flow, limits, subjects
from fanfuse_contracts.health import Heartbeat, RecentAnswers, ServiceEndpoint
from fanfuse_runtime import VERSION
from fanfuse_runtime.beats import next_beat
from fanfuse_runtime.context import Context
from fanfuse_runtime.endpoints import Endpoint
from fanfuse_runtime.micro import MicroService, semantic
from fanfuse_runtime.recent import Recent
from fanfuse_runtime.service import Service

_LOOK_EVERY_S = 0.1
_VERSION = semantic(VERSION)


class Heartbeats:
    """The heartbeats of one process."""

    def __init__(self, context: Context, services: Sequence[Service], is_ready: Callable[[], bool]) -> None:
        self._context = context
        self._services = services
        self._is_ready = is_ready
        self._recent = Recent(context.metrics.registry)
        self._micro: list[MicroService] = []

    async def start(self) -> None:
        """Answer who asks by `$SRV`."""
        for service in self._services:
            micro = MicroService(self._context.bus.nc, self._beat_of(service), service.router.endpoints)
            await micro.start()
            self._micro.append(micro)

    async def stop(self) -> None:
        """Say for the last time that these services take no work, and answer nobody any more."""
        await self.send()
        await asyncio.gather(*(micro.leave() for micro in self._micro))

    async def run(self) -> None:
        """Send until cancelled."""
        told, due = self._urgent(), 0.0
        while True:
            now = self._urgent()
            if time.monotonic() >= due or now != told:
                told, due = now, time.monotonic() + limits.HEARTBEAT_EVERY_S
                with suppress(NatsError):
                    await self.send()
            await next_beat(_LOOK_EVERY_S)

    def _urgent(self) -> tuple[object, ...]:
        # That it is ready too: a worker is asked by nobody before it said so.
        return (self._is_ready(), *((self._applied(service), service.urgent()) for service in self._services))

    async def send(self) -> None:
        """One heartbeat per service."""
        recent = self._recent.answers()
        for service in self._services:
            service.router.export_in_flight()
            beat = self._beat(service, recent)
            await self._context.bus.send(flow.HEARTBEAT, subjects.heartbeat(beat.service, beat.instance), beat)

    def _beat_of(self, service: Service) -> Callable[[], Heartbeat]:
        return lambda: self._beat(service, self._recent.answers())

    def _beat(self, service: Service, recent: RecentAnswers) -> Heartbeat:
        return Heartbeat(
            name=f"fanfuse-{service.stage.value}",
            id=self._context.instance,
            description=f"The stage {service.stage.value} of a federated retrieval flow.",
            endpoints=tuple(map(_told, service.router.endpoints)),
            service=service.stage,
            instance=self._context.instance,
            version=_VERSION,
            ready=self._is_ready(),
            pools=service.served_pools(),
            registry_revision=self._applied(service),
            in_flight=service.router.in_flight,
            recent=recent,
        )

    def _applied(self, service: Service) -> int:
        return self._context.corpora.revision if service.applied_revision is None else service.applied_revision()


def _told(endpoint: Endpoint) -> ServiceEndpoint:
    return ServiceEndpoint(
        name=endpoint.name,
        subject=endpoint.subject,
        queue_group=endpoint.queue_group,
        metadata=endpoint.metadata,
    )
