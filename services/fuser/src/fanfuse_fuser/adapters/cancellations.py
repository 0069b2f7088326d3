"""Tells everybody that a query needs no more work: its answer is stored, and some of its lanes have not replied."""

from nats.errors import Error as NatsError

from fanfuse_contracts import flow, subjects
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("fuser.cancellations")


class BusCancellations:
    """Publishes on `query.cancelled.<tenant>.<query_id>`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def publish(self, tenant: str, query_id: str) -> None:
        """The answer is out already: what cannot be told costs work that nobody wants, and no more."""
        try:
            await self._bus.send(flow.CANCELLED, subjects.query_cancelled(tenant, query_id))
        except (BusError, NatsError) as error:
            _log.warning("fuser.cancellation_not_told", error=str(error))
