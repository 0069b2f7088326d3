"""The delivery rules around every work-queue handler (one wrapper, so that no handler acknowledges).

In: a delivery. Effects: decode, handle, acknowledge after the effect; on an exception, deliver again with a growing
delay; on undecodable input or before the last delivery, a dead letter and the stage's own `on_failed`, so that
everything accepted is answered.
"""

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from opentelemetry import trace
from pydantic import ValidationError

from fanfuse_contracts import limits, metrics, subjects
from fanfuse_contracts.base import Model
from fanfuse_contracts.enums import RejectionCode, Stage
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_contracts.tracing import DELIVERIES
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.deadletters import UNDECODABLE, publish_dead_letter
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.errors import RetryError, UnacknowledgedError
from fanfuse_runtime.logs import MessageIds, current_message, get_logger
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.rejections import reject_invalid
from fanfuse_runtime.telemetry import handling

M = TypeVar("M", bound=Model)
OnFailed = Callable[[Delivery, Rejection], Awaitable[None]]

_log = get_logger("delivery")
_JITTER: Final = 0.2
_QUERIES: Final = f"{subjects.ROOT}.query."


@dataclass(frozen=True, slots=True)
class Guard(Generic[M]):
    """Everything one handler needs around it."""

    stage: Stage
    spec: ConsumerSpec
    model: type[M]
    handler: Callable[[Delivery, M], Awaitable[None]]
    on_failed: OnFailed
    bus: Bus
    metrics: Metrics
    tracer: trace.Tracer
    span_name: str

    @property
    def _of_queries(self) -> bool:
        """Only the subjects of queries name one."""
        return self.spec.filter_subject.startswith(_QUERIES)

    async def __call__(self, delivery: Delivery) -> None:
        """Handle one delivery; never raises."""
        token = current_message.set(_ids(delivery) if self._of_queries else None)
        deliveries = delivery.deliveries
        if deliveries > 1:
            self.metrics.inc(metrics.REDELIVERED_TOTAL, stage=self.stage.value)
        attributes = {DELIVERIES: deliveries}
        try:
            with handling(self.tracer, self.span_name, delivery.headers, trace.SpanKind.CONSUMER, attributes):
                await self._handle(delivery)
                elapsed_s = time.monotonic() - delivery.received_at
                self.metrics.observe(metrics.STAGE_SECONDS, elapsed_s, stage=self.stage.value)
        finally:
            current_message.reset(token)

    async def _handle(self, delivery: Delivery) -> None:
        try:
            message = self.model.from_json(delivery.data)
        except ValidationError as error:
            await self._give_up(delivery, UNDECODABLE, reject_invalid(error))
            return
        try:
            await self.handler(delivery, message)
        except InvalidTokenError as error:
            rejection = Rejection(code=RejectionCode.INVALID_QUERY, message=str(error))
            await self._give_up(delivery, "invalid_token", rejection)
        except (RetryError, UnacknowledgedError) as error:
            await self._again(delivery, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a handler raises, its message must not be lost
            _log.error("delivery.handler_raised", stage=self.stage.value, exc_info=error)
            await self._again(delivery, f"{type(error).__name__}: {error}")
        else:
            await delivery.ack()

    async def _again(self, delivery: Delivery, detail: str) -> None:
        if delivery.deliveries < self.spec.max_deliver:
            delay = limits.RETRY_DELAYS_S[min(delivery.deliveries, len(limits.RETRY_DELAYS_S)) - 1]
            await delivery.retry_after(delay * random.uniform(1 - _JITTER, 1 + _JITTER))
            return
        rejection = Rejection(
            code=RejectionCode.INTERNAL,
            message=f"the {self.stage.value} could not handle this query after {delivery.deliveries} tries; "
            "the operator finds it among the dead letters",
            retryable=True,
        )
        await self._give_up(delivery, "max_deliveries", rejection, detail)

    async def _give_up(self, delivery: Delivery, reason: str, rejection: Rejection, detail: str = "") -> None:
        try:
            await self.on_failed(delivery, rejection)
            await publish_dead_letter(
                self.bus,
                self.metrics,
                stage=self.stage,
                stream=self.spec.stream,
                sequence=delivery.sequence,
                subject=delivery.subject,
                data=delivery.data,
                headers=delivery.headers,
                deliveries=delivery.deliveries,
                reason=reason,
                detail=detail or rejection.message,
            )
        except Exception as error:  # noqa: BLE001 - not acknowledged: delivered again, in the end by the janitor
            _log.error("delivery.give_up_failed", stage=self.stage.value, exc_info=error)
            await delivery.retry_after(limits.RETRY_DELAYS_S[-1])
            return
        await delivery.terminate()


def _ids(delivery: Delivery) -> MessageIds | None:
    try:
        return MessageIds(*delivery.query)
    except InvalidTokenError:
        return None
