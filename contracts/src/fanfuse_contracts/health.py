"""What health speaks of: outcomes of calls, the state of a backend, and heartbeats."""

from typing import Annotated, Final

from pydantic import Field

from fanfuse_contracts.base import Event, Model
from fanfuse_contracts.enums import BackendHealth, FailureKind, Kind, Stage
from fanfuse_contracts.tokens import Token

PROBE_LANE: Final = "probe"
"""Lane of a probe: a command of the health service itself, whose outcome health judges from the reply."""
PROBE_PREFIX: Final = "probe-"
"""What a probe's query id begins with."""


class BackendOutcome(Event):
    """Published on `backend.outcome.<kind>.<backend>`: failures all, successes sampled."""

    kind: Kind
    backend: Token
    ok: bool
    failure: FailureKind | None = None
    weight: Annotated[int, Field(ge=1)] = 1
    """How many calls this row stands for."""
    probe: bool = False
    source: str = ""
    """Instance that saw it."""
    message: str = ""


class BackendState(Event):
    """Value of `<kind>.<backend>` in the `backend_state` bucket."""

    kind: Kind
    backend: Token
    state: BackendHealth
    version: Annotated[int, Field(ge=1)]
    """Rises with every transition; an older version never replaces a newer one."""
    since: str
    """UTC time of the transition, ISO 8601 with offset (for people: no decision compares it)."""
    until_s: float | None = None
    """Seconds from the transition until the next probe is due (degraded only)."""
    reason: str = ""
    failures: int = 0
    outcomes: int = 0
    manual: bool = False
    """Set by an operator: not cleared by outcomes."""


class ServedPool(Model):
    """A pool of workers this instance serves."""

    kind: Kind
    pool: Token
    backends: tuple[Token, ...] = ()


class Heartbeat(Event):
    """Published every second on `heartbeat.<service>.<instance>`."""

    service: Stage
    instance: Token
    version: str
    ready: bool
    pools: tuple[ServedPool, ...] = ()
    registry_revision: Annotated[int, Field(ge=0)] = 0
    """Highest revision of the registry this instance has fully applied."""
    in_flight: Annotated[int, Field(ge=0)] = 0
