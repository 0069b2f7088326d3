"""What the fuser hears: plans and cancellations. Parse, hand to the fuser, nothing else."""

from typing import Final

from fanfuse_contracts import subjects
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.plan import QueryPlanned, Rejection
from fanfuse_contracts.streams import FUSER_CONSUMER
from fanfuse_fuser.fuser import Fuser
from fanfuse_fuser.settings import FuserSettings
from fanfuse_runtime.answers import hop, progress, publish_refusal
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.errors import BusError, RetryError
from fanfuse_runtime.router import ServiceRouter

CLOCK_ERROR_NS: Final = 1_000_000_000
"""A second: far more than half a round trip under load, far less than a budget that would hold its slot."""


def register(router: ServiceRouter, context: Context, fuser: Fuser, settings: FuserSettings) -> None:
    """Declare the subscribers."""

    async def refuse(delivery: Delivery, rejection: Rejection) -> None:
        known, (tenant, query_id) = progress(delivery.data), (delivery.tenant, delivery.query_id)
        submitted_ns = known.submitted_ns or delivery.stored_ns
        hops = (*known.hops, hop(context.bus, Stage.FUSER, submitted_ns, delivery.held_ms()))
        await publish_refusal(context.bus, context.metrics, tenant, query_id, rejection, submitted_ns, hops)

    @router.consume(FUSER_CONSUMER, QueryPlanned, in_flight=settings.in_flight, on_failed=refuse)
    async def on_query_planned(delivery: Delivery, planned: QueryPlanned) -> None:
        """Join the plan and store its answer."""
        try:
            await fuser.answer(_of_subject(planned, delivery, context.bus.now_ns()))
        except BusError as error:
            raise RetryError(str(error)) from error

    @router.listen(subjects.QUERY_CANCELLED)
    async def on_query_cancelled(delivery: Delivery) -> None:
        """Stop waiting for a query."""
        fuser.cancel(delivery.tenant, delivery.query_id)


def _of_subject(planned: QueryPlanned, delivery: Delivery, now_ns: int) -> QueryPlanned:
    """Who asked comes from the subject, never from the payload; and no budget begins in the future.

    The time names the submission, so it is left alone within the error of this process's estimate of broker time.
    """
    submitted_ns = planned.submitted_ns if planned.submitted_ns <= now_ns + CLOCK_ERROR_NS else now_ns
    return planned.stating(tenant=delivery.tenant, query_id=delivery.query_id, submitted_ns=submitted_ns)
