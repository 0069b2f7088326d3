"""What the health service needs from outside: the stored states, a prober, and the work queues."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from fanfuse_contracts.enums import Kind
from fanfuse_health.domain.probe import Target, Verdict
from fanfuse_health.domain.standing import Stored
from fanfuse_health.domain.transitions import Transition


class BackendKey(NamedTuple):
    """One backend of the deployment."""

    kind: Kind
    backend: str


class StateStore(Protocol):
    """The `backend_state` bucket. Raises `BusError` when the broker does not answer."""

    async def read_all(self) -> dict[BackendKey, Stored]:
        """Every stored record with its revision and age."""
        ...

    async def read(self, key: BackendKey) -> Stored | None:
        """One record as it is now; None if it was never stored."""
        ...

    async def write(self, transition: Transition) -> Stored | None:
        """Store the transition where its revision is still the last; None if another was first."""
        ...


class Prober(Protocol):
    """Sends one probe and waits for its reply."""

    async def probe(self, target: Target, number: int) -> Verdict:
        """`number` makes the probe's query id unique within this instance. Raises `BusError` where the probe says
        nothing, for the bus was away."""
        ...


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message as it lies in a work queue."""

    sequence: int
    subject: str
    data: bytes
    headers: dict[str, str]
    stored_ns: int


class WorkQueues(Protocol):
    """Messages of work-queue streams, by sequence. Raises `BusError` when the broker does not answer."""

    async def read(self, stream: str, sequence: int) -> QueuedMessage | None:
        """None if it is gone: handled, deleted or never there."""
        ...

    async def next(self, stream: str, filter_subject: str, from_sequence: int) -> QueuedMessage | None:
        """The first message on a filter at or after a sequence."""
        ...

    async def delivered(self, stream: str, durable: str) -> int | None:
        """Highest stream sequence a consumer ever delivered; None if there is no such consumer."""
        ...

    async def delete(self, stream: str, sequence: int) -> None:
        """Remove a message; no error if it is gone."""
        ...
