"""What health speaks of: outcomes of calls, the state of a backend, probes at somebody's wish, and heartbeats."""

from typing import Annotated, Final, Literal

from pydantic import Field

from fanfuse_contracts import limits
from fanfuse_contracts.base import Event, Model
from fanfuse_contracts.enums import BackendHealth, FailureKind, FallbackReason, Kind, Stage
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
    age_ms: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """How long before it was told the failed call began, or the last of these successes ended."""
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
    """Seconds from the transition until the next probe is due (degraded only); None with `manual`: until cleared."""
    reason: str = ""
    failures: int = 0
    outcomes: int = 0
    manual: bool = False
    """Set by an operator: neither outcomes nor probes change it before `until_s`."""
    set_by: str = ""
    """The operator who set or cleared it; empty where health decided."""
    period_s: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = limits.DEGRADED_FOR_S
    """Length of the last degraded period, kept through half-open and recovery."""
    damping_s: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """The next degradation lasts twice as long as this, if it comes soon; 0: none before it counts as flapping."""


class ProbeRequest(Event):
    """Sent to `backend.probe.<kind>.<backend>`: probe this backend now, if it is degraded."""

    by: str
    """Who asks, for the log."""


class ProbeReply(Event):
    """Where the backend stands now."""

    state: BackendHealth
    probed: bool = False
    """False: no probe was sent; `reason` says why."""
    reason: str = ""
    revision: Annotated[int, Field(ge=0)] = 0
    """Revision of the `backend_state` bucket at which this holds."""


class ColdLane(Model):
    """A corpus on a backend that an instance has not opened yet, or whose embedder it has not loaded."""

    tenant: Token
    corpus: Token
    backend: Token


class ServedPool(Model):
    """A pool of workers this instance serves."""

    kind: Kind
    pool: Token
    backends: tuple[Token, ...] = ()
    servers: tuple[Token, ...] = ()
    """Backends of this pool that are engine servers by the file of this instance, whether a corpus is wired or not."""
    unusable: tuple[Token, ...] = ()
    """Those of them that this instance could not use when it started, nor since: no answer, or it was refused."""
    cold: Annotated[tuple[ColdLane, ...], Field(max_length=limits.MAX_COLD_TOLD)] = ()
    """What it cannot search yet, sorted; what is over the limit counts as warm, and waits in the worker."""
    oldest_share: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """Share of its budget that the oldest command of this pool here has used up."""

    @property
    def under_pressure(self) -> bool:
        """True while that is more than half."""
        return self.oldest_share > limits.PRESSURE_SHARE


class ServiceEndpoint(Model):
    """One subject that a service hears, as `nats micro` tells of it."""

    name: str
    subject: str
    queue_group: str = ""
    metadata: dict[str, str] = {}


class RecentAnswers(Model):
    """Answers that one process stored lately, whatever services it runs."""

    window_s: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    """How long it has counted: at most five minutes."""
    answers: Annotated[int, Field(ge=0)] = 0
    fallbacks: dict[FallbackReason, int] = {}
    """Those that fell back on keywords, by first reason."""


class Heartbeat(Event):
    """Published every second on `heartbeat.<service>.<instance>`, and the answer to `$SRV.INFO` at any time.

    It is a `nats micro` INFO response (NATS ADR-32) with the fields that services need of each other beside it, which
    clients of that protocol ignore.
    """

    type: Literal["io.nats.micro.v1.info_response"] = "io.nats.micro.v1.info_response"
    name: str = ""
    """Name of the service in `nats micro`; replicas share it."""
    id: str = ""
    """The instance again, under the name that `nats micro` has for it."""
    description: str = ""
    metadata: dict[str, str] = {}
    endpoints: tuple[ServiceEndpoint, ...] = ()
    service: Stage
    instance: Token
    version: str
    ready: bool
    pools: tuple[ServedPool, ...] = ()
    registry_revision: Annotated[int, Field(ge=0)] = 0
    """Highest revision of the registry this instance has fully applied."""
    in_flight: Annotated[int, Field(ge=0)] = 0
    recent: RecentAnswers | None = None
    """Of the process; the services in it tell the same."""
