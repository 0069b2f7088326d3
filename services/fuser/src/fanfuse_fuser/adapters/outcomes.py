"""Failures of lanes that never replied, told to health: nobody else can know of them."""

from collections.abc import Sequence

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.health import BackendOutcome
from fanfuse_contracts.plan import QueryPlanned
from fanfuse_fuser.domain.join import LaneResult, Loss
from fanfuse_runtime.bus import Bus, Publication
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("fuser.outcomes")


class BusOutcomes:
    """Publishes on `backend.outcome.<kind>.<backend>`, once per lane whoever takes the plan."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def report(self, planned: QueryPlanned, silent: Sequence[LaneResult]) -> None:
        """The answer is out already, so a failed report must not bring its plan back."""
        try:
            await self._bus.publish_all([self._publication(planned, result) for result in silent])
        except BusError as error:
            _log.warning("fuser.outcome_not_reported", error=str(error))

    def _publication(self, planned: QueryPlanned, result: LaneResult) -> Publication:
        lane = result.lane
        no_worker = result.loss is Loss.NO_WORKER
        outcome = BackendOutcome(
            kind=lane.kind,
            backend=lane.backend,
            ok=False,
            failure=FailureKind.UNAVAILABLE if no_worker else FailureKind.TIMEOUT,
            # No worker now is no worker now; a reply may have been missing since the query was stored.
            age_ms=0.0 if no_worker else max(0.0, self._bus.elapsed_ms(planned.submitted_ns)),
            source=self._bus.instance,
            message=f"no worker of pool {lane.pool} is alive" if no_worker else "no reply within the budget",
        )
        message_id = streams.message_id(planned.tenant, planned.query_id, "outcome", lane.name)
        return Publication(flow.OUTCOME, subjects.backend_outcome(lane.kind, lane.backend), outcome, message_id)
