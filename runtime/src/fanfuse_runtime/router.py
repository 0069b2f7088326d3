"""How a service declares what it hears: FastStream subscribers, with our delivery rules around the handlers.

Built in a factory, one per service and process. Declarations come first; `attach` puts the pull loops underneath once
the broker is connected.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from faststream import AckPolicy
from faststream.nats import JStream, NatsRouter, PullSub
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from opentelemetry import trace
from pydantic import ValidationError

from fanfuse_contracts import metrics
from fanfuse_contracts.base import Model
from fanfuse_contracts.enums import RejectionCode, Stage
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_runtime.context import Context
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.endpoints import Endpoint, Handler
from fanfuse_runtime.guard import Guard, OnFailed
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.pull import PullLoop
from fanfuse_runtime.rejections import reject_invalid
from fanfuse_runtime.setup import ensure_consumer, in_time, rights_of
from fanfuse_runtime.slots import Slots
from fanfuse_runtime.telemetry import handling, inject

if TYPE_CHECKING:
    from faststream.nats.message import NatsMessage

M = TypeVar("M", bound=Model)
R = TypeVar("R", bound=Model)

_log = get_logger("router")
_CORE_SLOTS = 64
_PENDING_MSGS = 65_536
_PENDING_HEARD = 2_048
"""Of what every instance hears and anybody may publish: what is over it is dropped, and nothing else with it."""
_INTERNAL = Rejection(
    code=RejectionCode.INTERNAL,
    message="the service failed on this request: ask again, and look at its log",
    retryable=True,
)


async def _to_delivery(message: "NatsMessage") -> Delivery:
    return Delivery(message.raw_message)


class _Declared(NamedTuple):
    """A subscriber of a work queue: FastStream's, and the handler that the loop below it calls."""

    spec: ConsumerSpec
    in_flight: int
    subscriber: Any
    handler: Handler


class _Heard(NamedTuple):
    """A subscriber of core messages that every instance hears."""

    subject: str
    subscriber: Any
    handler: Handler


class ServiceRouter:
    """Declares the subscribers of one service."""

    def __init__(self, stage: Stage, context: Context) -> None:
        self.stage = stage
        self.faststream = NatsRouter()
        self.consumers: list[ConsumerSpec] = []
        self.subjects: list[str] = []
        self.endpoints: list[Endpoint] = []
        self._context = context
        self._tracer = context.tracer
        self._declared: list[_Declared] = []
        self._loops: list[PullLoop] = []
        self._core: list[tuple[Any, Slots]] = []
        self._heard: list[_Heard] = []

    def consume(
        self, spec: ConsumerSpec, model: type[M], *, in_flight: int, on_failed: OnFailed
    ) -> Callable[[Callable[[Delivery, M], Awaitable[None]]], Callable[[Delivery, M], Awaitable[None]]]:
        """Handle the messages of a durable consumer, `in_flight` at a time, under the delivery rules."""
        subscriber = self.faststream.subscriber(
            spec.filter_subject,
            stream=JStream(spec.stream, declare=False),
            durable=spec.durable,
            pull_sub=PullSub(batch_size=1),
            ack_policy=AckPolicy.MANUAL,
            decoder=_to_delivery,
        )
        self.consumers.append(spec)
        endpoint = self._endpoint(spec.filter_subject, spec.durable, {"stream": spec.stream})

        def decorate(handler: Callable[[Delivery, M], Awaitable[None]]) -> Callable[[Delivery, M], Awaitable[None]]:
            context = self._context
            endpoint.name = handler.__name__
            guard = Guard(
                stage=self.stage,
                spec=spec,
                model=model,
                handler=handler,
                on_failed=endpoint.noting(on_failed),
                bus=context.bus,
                metrics=context.metrics,
                tracer=self._tracer,
                span_name=f"{self.stage.value} {handler.__name__}",
            )
            counted = endpoint.counted(guard)
            subscriber(counted)
            self._declared.append(_Declared(spec, in_flight, subscriber, counted))
            return handler

        return decorate

    def respond(
        self, subject: str, model: type[M], *, invalid: Callable[[Rejection], R]
    ) -> Callable[[Callable[[Delivery, M], Awaitable[R]]], Callable[[Delivery, M], Awaitable[R]]]:
        """Answer core requests; one instance of the service answers each. `invalid` makes the reply to a bad body."""
        endpoint, subscribe = self._core_subscriber(subject, queue=self.stage.value)

        def decorate(handler: Callable[[Delivery, M], Awaitable[R]]) -> Callable[[Delivery, M], Awaitable[R]]:
            span_name = f"{self.stage.value} {handler.__name__}"

            async def answer(delivery: Delivery) -> None:
                with handling(self._tracer, span_name, delivery.headers, trace.SpanKind.SERVER):
                    try:
                        reply = await handler(delivery, model.from_json(delivery.data))
                    except ValidationError as error:
                        reply = invalid(reject_invalid(error))
                    except InvalidTokenError as error:
                        reply = invalid(Rejection(code=RejectionCode.INVALID_QUERY, message=str(error)))
                    except Exception as error:  # noqa: BLE001 - nobody redelivers a core request: its caller must hear
                        endpoint.failed(_INTERNAL)
                        _log.error("request.failed", handler=span_name, exc_info=error)
                        reply = invalid(_INTERNAL)
                    await self._context.bus.nc.publish(delivery.reply, reply.to_json(), headers=inject({}) or None)

            endpoint.name = handler.__name__
            subscribe(answer)
            return handler

        return decorate

    def listen(self, subject: str) -> Callable[[Callable[[Delivery], Awaitable[None]]], Callable[..., Awaitable[None]]]:
        """Hear core messages, one after the other; every instance hears each. The handler must not wait."""
        endpoint, subscriber = self._core_endpoint(subject, queue="")

        def decorate(handler: Callable[[Delivery], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
            async def hear(delivery: Delivery) -> None:
                try:
                    await handler(delivery)
                except InvalidTokenError as error:
                    # Anybody may publish on a core subject, and nobody can own one like this.
                    _log.debug("listen.ignored", subject=delivery.subject, reason=str(error))

            endpoint.name = handler.__name__
            counted = endpoint.counted(hear)
            subscriber(counted)
            self._heard.append(_Heard(subject, subscriber, counted))
            return handler

        return decorate

    def _endpoint(self, subject: str, queue: str, metadata: dict[str, str]) -> Endpoint:
        endpoint = Endpoint(subject, queue, metadata)
        self.endpoints.append(endpoint)
        return endpoint

    def _core_endpoint(self, subject: str, queue: str) -> tuple[Endpoint, Any]:
        self.subjects.append(subject)
        subscriber = self.faststream.subscriber(
            subject,
            queue=queue,
            pending_msgs_limit=_PENDING_MSGS,
            ack_policy=AckPolicy.MANUAL,
            no_reply=True,
            decoder=_to_delivery,
        )
        return self._endpoint(subject, queue, {}), subscriber

    def _core_subscriber(self, subject: str, queue: str) -> tuple[Endpoint, Callable[[Handler], None]]:
        # FastStream's own workers cost more than the handlers: it hears one message after the other, slots run them.
        endpoint, subscriber = self._core_endpoint(subject, queue)
        slots = Slots(_CORE_SLOTS)
        self._core.append((subscriber, slots))

        def subscribe(handler: Handler) -> None:
            counted = endpoint.counted(handler)

            async def start(delivery: Delivery) -> None:
                await slots.run(counted(delivery))

            subscriber(start)

        return endpoint, subscribe

    # -- life cycle ---------------------------------------------------------------------------------------------

    async def attach(self) -> None:
        """Ensure the consumers and put a pull loop under each declared subscriber."""
        for one in self._declared:
            ensure = self._ensure(one.spec)
            await in_time(ensure)
            loop = PullLoop(self._context.bus.nc, one.spec, one.in_flight, one.handler, ensure)
            # FastStream starts its own fetching only where no subscription is set.
            one.subscriber.subscription = loop
            self._loops.append(loop)
        for heard in self._heard:
            heard.subscriber.subscription = await self._hear(heard)

    async def _hear(self, heard: _Heard) -> Subscription:
        # Not by FastStream: a message that nobody waits for must cost little, for anybody may publish many.
        async def on_message(msg: Msg) -> None:
            await heard.handler(Delivery(msg))

        return await self._context.bus.nc.subscribe(heard.subject, cb=on_message, pending_msgs_limit=_PENDING_HEARD)

    def _ensure(self, spec: ConsumerSpec) -> Callable[[], Awaitable[None]]:
        context = self._context
        return lambda: ensure_consumer(context.bus.js, spec, rights_of(context.settings))

    async def start(self) -> None:
        """Begin to fetch."""
        for loop in self._loops:
            await loop.start()

    async def on_reconnect(self) -> None:
        """Ensure the consumers again and ask anew."""
        for one in self._declared:
            await in_time(self._ensure(one.spec))
        for loop in self._loops:
            await loop.on_reconnect()

    async def stop_fetching(self) -> None:
        """Take no new work."""
        for loop in self._loops:
            await loop.stop_fetching()

    async def finish(self, timeout_s: float) -> None:
        """Finish what is in flight."""
        for loop in self._loops:
            await loop.finish(timeout_s)

    async def stop_answering(self, timeout_s: float) -> None:
        """Take no more core messages, and answer those that are here: nobody delivers them again."""
        with suppress(TimeoutError, NatsError):
            async with asyncio.timeout(timeout_s):
                for subscriber in (*(one for one, _ in self._core), *(one.subscriber for one in self._heard)):
                    # Gone for FastStream, which would throw away what waits.
                    subscription, subscriber.subscription = subscriber.subscription, None
                    if subscription is not None:
                        await subscription.drain()
                for _, slots in self._core:
                    await slots.finished()

    @property
    def in_flight(self) -> int:
        """Messages of work queues being handled now."""
        return sum(loop.in_flight for loop in self._loops)

    def export_in_flight(self) -> None:
        """Set the gauge."""
        self._context.metrics.set(metrics.IN_FLIGHT, self.in_flight, stage=self.stage.value)
