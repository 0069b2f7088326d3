"""What a service is to the process that runs it: a manifest, made by a factory from the process's context."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from fanfuse_contracts.enums import Stage
from fanfuse_contracts.health import ServedPool
from fanfuse_runtime.context import Context
from fanfuse_runtime.router import ServiceRouter


def _no_pools() -> tuple[ServedPool, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Service:
    """One service in one process."""

    stage: Stage
    router: ServiceRouter
    warm_up: Callable[[], Awaitable[None]] | None = None
    """Runs before the process is ready: the first query of a cold process is many times slower."""
    background: tuple[Callable[[], Awaitable[None]], ...] = ()
    """Loops that run until the process stops."""
    close: Callable[[], Awaitable[None]] | None = None
    served_pools: Callable[[], tuple[ServedPool, ...]] = field(default=_no_pools)
    """Pools of workers in this process, told in every heartbeat."""
    urgent: Callable[[], object] = field(default=_no_pools)
    """What others must hear of at once, in a heartbeat of its own when it changes; looked at often."""
    applied_revision: Callable[[], int] | None = None
    """Registry revision this service has fully applied; None: the registry view's own."""


ServiceFactory = Callable[[Context], Service]
