"""What the fuser needs of the world around it; adapters/ implements it on the bus, tests in memory."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import QueryPlanned
from fanfuse_contracts.retrieval import ChunksReply
from fanfuse_fuser.domain.join import LaneResult


class RawReply(NamedTuple):
    """One lane reply as it came: the lane by its subject, the body, and the span it was made in (W3C traceparent)."""

    lane: str
    data: bytes
    traceparent: str = ""


class Replies(Protocol):
    """Where lane replies come from."""

    def listening(
        self, tenant: str, query_id: str, on_reply: Callable[[RawReply], None]
    ) -> AbstractAsyncContextManager[None]:
        """Inside the block every reply that a later read of `stored` cannot find is heard; always left silent again."""

    async def stored(self, tenant: str, query_id: str, timeout_s: float) -> Sequence[RawReply]:
        """Every reply stored so far, oldest first; empty where the store cannot be read in time."""


class TextSource(Protocol):
    """Where the texts of the winners come from."""

    async def fetch(self, tenant: str, corpus: str, chunk_ids: Sequence[str], timeout_s: float) -> ChunksReply | None:
        """The texts of some chunks of one corpus; None where nobody answers in time."""


class Pools(Protocol):
    """Who is alive."""

    def absent(self, kind: Kind, pool: str) -> bool:
        """True if no worker of this pool is known to live."""

    def lives(self, kind: Kind, pool: str, waited_s: float) -> bool:
        """True if some worker of this pool gave a sign of life in this time, or had a queue before it."""


class Clock(Protocol):
    """Broker time."""

    def elapsed_ms(self, submitted_ns: int) -> float:
        """Milliseconds since the broker stored a message."""

    def was_interrupted(self, submitted_ns: int, budget_ms: int) -> bool:
        """True if the bus was away in that time, or less than a budget before."""


class Answers(Protocol):
    """Where the one answer goes."""

    @property
    def max_bytes(self) -> int:
        """Largest answer that can be stored."""

    async def publish(self, answer: Answer, body: bytes) -> bool:
        """Store the answer, of which `body` is the JSON; False if another was stored first."""


class Outcomes(Protocol):
    """Who wants to know of lanes that never replied."""

    async def report(self, planned: QueryPlanned, silent: Sequence[LaneResult]) -> None:
        """Hold each lane's silence against its backend; a report that cannot be sent is only logged."""


class Cancellations(Protocol):
    """Who may still be at work for a query."""

    async def publish(self, tenant: str, query_id: str) -> None:
        """Say that nobody waits for it any more; never raises, as its answer is out."""


class Routes(Protocol):
    """Who wants to know how each corpus of an answer was searched."""

    def tell(self, planned: QueryPlanned, answer: Answer) -> None:
        """Say it, once per answer, when it is out."""


class Quality(Protocol):
    """Who wants to know what each lane contributed."""

    def count(self, answer: Answer) -> None:
        """Count an answer that was stored."""
