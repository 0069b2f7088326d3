"""`nats micro` of one service (NATS ADR-32): `$SRV.PING`, `$SRV.INFO` and `$SRV.STATS`, for all, by name, by instance.

In: the service's heartbeat and endpoints, looked at when somebody asks. Out: replies; INFO is the heartbeat itself, so
that what is asked and what is told every second never differ.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.micro.service import EndpointStats, ServiceConfig, ServiceInfo, ServiceStats
from nats.micro.service import Service as NatsService

from fanfuse_contracts.health import Heartbeat
from fanfuse_runtime.endpoints import Endpoint

_RELEASE: Final = re.compile(r"(\d+\.\d+\.\d+)[.+-]?(.*)")


def semantic(version: str) -> str:
    """A Python version as `nats micro` wants it: `0.2.0.dev1` → `0.2.0-dev1`; what is none counts as 0.0.0."""
    found = _RELEASE.fullmatch(version)
    if found is None:
        return "0.0.0"
    release, rest = found.groups()
    return f"{release}-{re.sub('[^0-9A-Za-z-]+', '-', rest)}" if rest else release


class _Beat(ServiceInfo):
    """An INFO response with everything of a heartbeat in it."""

    def __init__(self, beat: Heartbeat) -> None:
        super().__init__(name=beat.name, id=beat.id, version=beat.version)
        self._beat = beat

    def to_dict(self) -> dict[str, Any]:
        """As it is sent."""
        return self._beat.model_dump(mode="json")


class MicroService(NatsService):
    """One service of this process, as `nats micro` sees it."""

    def __init__(self, client: Client, beat: Callable[[], Heartbeat], endpoints: Sequence[Endpoint]) -> None:
        now = beat()
        super().__init__(client, ServiceConfig(name=now.name, version=now.version, description=now.description))
        self._id = now.id
        self._beat = beat
        self._heard = endpoints
        self._began = datetime.now(UTC)

    def info(self) -> ServiceInfo:
        """The heartbeat as it would be sent now."""
        return _Beat(self._beat())

    def stats(self) -> ServiceStats:
        """Counters of every endpoint since the start of this process."""
        return ServiceStats(
            id=self._id,
            name=self._name,
            version=self._version,
            started=self._began,
            endpoints=[_stats_of(endpoint) for endpoint in self._heard],
        )

    async def leave(self) -> None:
        """Answer nobody any more; nothing where the broker is away."""
        try:
            await self.stop()
        except NatsError:
            return


def _stats_of(endpoint: Endpoint) -> EndpointStats:
    return EndpointStats(
        name=endpoint.name,
        subject=endpoint.subject,
        queue_group=endpoint.queue_group,
        num_requests=endpoint.requests,
        num_errors=endpoint.errors,
        last_error=endpoint.last_error,
        processing_time=endpoint.busy_ns,
        average_processing_time=endpoint.busy_ns // max(1, endpoint.requests),
    )
