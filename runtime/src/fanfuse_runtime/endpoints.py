"""One subject that a service hears, with what became of its messages: what `nats micro` tells of an endpoint.

In: handled deliveries. Out: counters of this process since its start. Holds no text of a message, only codes of errors.
"""

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from fanfuse_contracts.plan import Rejection
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.guard import OnFailed

Handler = Callable[[Delivery], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class Endpoint:
    """Counters of one subject. `busy_ns`: time in handlers, nanoseconds, what they waited for included."""

    subject: str
    queue_group: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    name: str = ""
    """Name of its handler."""
    requests: int = 0
    errors: int = 0
    busy_ns: int = 0
    last_error: str = ""

    def counted(self, handler: Handler) -> Handler:
        """The same handler, counted and timed."""

        async def handle(delivery: Delivery) -> None:
            started = time.perf_counter_ns()
            try:
                await handler(delivery)
            finally:
                self.requests += 1
                self.busy_ns += time.perf_counter_ns() - started

        return handle

    def noting(self, on_failed: OnFailed) -> OnFailed:
        """The same, with the failure noted first."""

        async def note(delivery: Delivery, rejection: Rejection) -> None:
            self.failed(rejection)
            await on_failed(delivery, rejection)

        return note

    def failed(self, rejection: Rejection) -> None:
        """Note a message that was given up."""
        self.errors += 1
        self.last_error = rejection.code.value
