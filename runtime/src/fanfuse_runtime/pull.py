"""The pull loop below every work-queue subscriber.

It asks the server for exactly as many messages as it has free slots, so nothing waits unhandled while its
acknowledgement clock runs; it reports progress for everything it holds; it asks again at once after a reconnect.
FastStream declares the subscriber; this loop fetches for it and calls its handler (ADR 0002, ADR 0018).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from pydantic_core import to_json

from fanfuse_contracts import limits
from fanfuse_contracts.streams import ConsumerSpec
from fanfuse_runtime.beats import next_beat
from fanfuse_runtime.delivery import Delivery
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.tasks import end_tasks

_EXPIRES_S: Final = 10.0
_HEARTBEAT_S: Final = 2.5
_REASK_AFTER_S: Final = 0.2
_STATUS: Final = "Status"
_PENDING_MESSAGES: Final = "Nats-Pending-Messages"

_log = get_logger("pull")

Consume = Callable[[Delivery], Coroutine[Any, Any, None]]
Ensure = Callable[[], Awaitable[None]]
"""Creates the consumer where it is missing."""


class PullLoop:
    """Feeds one handler from one durable consumer, `slots` messages at a time."""

    def __init__(self, client: Client, spec: ConsumerSpec, slots: int, consume: Consume, ensure: Ensure) -> None:
        self._client = client
        self._spec = spec
        self._slots = slots
        self._consume = consume
        self._ensure = ensure
        self._next_subject = f"$JS.API.CONSUMER.MSG.NEXT.{spec.stream}.{spec.durable}"
        self._asked = 0
        self._last_heard = 0.0
        self._stopping = False
        self._held: dict[asyncio.Task[None], Delivery] = {}
        self._wake = asyncio.Event()
        self._inbox: Subscription | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._epoch = 0

    @property
    def in_flight(self) -> int:
        """Messages being handled now."""
        return len(self._held)

    async def start(self) -> None:
        """Subscribe the inbox and begin to ask."""
        await self._subscribe()
        self._tasks = [asyncio.create_task(self._ask_forever()), asyncio.create_task(self._tick_forever())]

    async def _subscribe(self) -> None:
        # A fresh inbox forgets whatever older requests still owe: their count can no longer be trusted.
        if self._inbox is not None:
            await self._inbox.unsubscribe()
        self._epoch += 1
        epoch = self._epoch

        async def on_message(msg: Msg) -> None:
            await self._on_message(msg, epoch)

        self._inbox = await self._client.subscribe(self._client.new_inbox(), cb=on_message)
        self._asked = 0
        self._last_heard = time.monotonic()
        self._wake.set()

    async def _on_message(self, msg: Msg, epoch: int) -> None:
        if epoch == self._epoch:
            self._last_heard = time.monotonic()
        status = msg.headers.get(_STATUS) if msg.headers and not msg.reply else None
        if status is not None or not msg.reply:
            await self._on_status(msg, status, epoch)
            return
        if epoch == self._epoch:
            self._asked = max(0, self._asked - 1)
        delivery = Delivery(msg)
        if self._stopping:
            await delivery.retry_after(0)
            return
        task = asyncio.create_task(self._consume(delivery))
        self._held[task] = delivery
        task.add_done_callback(self._release)

    async def _on_status(self, msg: Msg, status: str | None, epoch: int) -> None:
        if status == "100" or epoch != self._epoch:
            return
        pending = (msg.headers or {}).get(_PENDING_MESSAGES)
        self._asked = max(0, self._asked - int(pending)) if pending and pending.isdigit() else 0
        if status not in {"404", "408"}:
            # The consumer has no leader yet, or somebody deleted it.
            await asyncio.sleep(_REASK_AFTER_S)
            with suppress(NatsError, OSError, TimeoutError):
                await self._ensure()
        self._wake.set()

    def _release(self, task: asyncio.Task[None]) -> None:
        self._held.pop(task, None)
        if self._missing():
            self._wake.set()
        if not task.cancelled() and task.exception() is not None:
            _log.error("pull.handler_failed", consumer=self._spec.durable, exc_info=task.exception())

    async def _ask_forever(self) -> None:
        while not self._stopping:
            await self._wake.wait()
            self._wake.clear()
            if missing := self._missing():
                with suppress(NatsError, OSError):
                    await self._ask(missing)

    def _missing(self) -> int:
        """Messages to ask for now. Asking in lots keeps requests few; half the slots keep the pipe from running dry."""
        free = self._slots - len(self._held) - self._asked
        return free if free >= max(1, self._slots // 2) or (free > 0 and self._asked == 0) else 0

    async def _ask(self, batch: int) -> None:
        if self._inbox is None:
            return
        request = {"batch": batch, "expires": int(_EXPIRES_S * 1e9), "idle_heartbeat": int(_HEARTBEAT_S * 1e9)}
        self._asked += batch
        await self._client.publish(self._next_subject, to_json(request), reply=self._inbox.subject)

    async def _tick_forever(self) -> None:
        while True:
            await next_beat(limits.IN_PROGRESS_EVERY_S)
            # While the broker dies a write may fail in any way of a socket; the next tick, or the reconnect, goes on.
            with suppress(NatsError, OSError):
                await self._tick()

    async def _tick(self) -> None:
        await self._report_progress()
        silent = time.monotonic() - self._last_heard > 2.5 * _HEARTBEAT_S
        if silent and not self._stopping and self._client.is_connected:
            await self._subscribe()

    async def _report_progress(self) -> None:
        due = time.monotonic() - limits.IN_PROGRESS_EVERY_S
        for delivery in list(self._held.values()):
            if delivery.received_at <= due:
                await delivery.in_progress()

    async def on_reconnect(self) -> None:
        """Ask anew: the server forgot every request of the old connection."""
        if not self._stopping:
            await self._subscribe()

    async def stop_fetching(self) -> None:
        """Take no new message; what still arrives is given back at once."""
        self._stopping = True
        self._wake.set()
        inbox, self._inbox = self._inbox, None
        if inbox is not None and not self._client.is_closed:
            await inbox.unsubscribe()

    async def finish(self, timeout_s: float) -> None:
        """Wait for what is in flight, then give the rest back and stop."""
        self._stopping = True
        if self._held:
            await asyncio.wait(list(self._held), timeout=timeout_s)
        for delivery in list(self._held.values()):
            await delivery.retry_after(0)
        await end_tasks((*self._tasks, *self._held))

    async def unsubscribe(self) -> None:
        """Called by FastStream when it stops the subscriber."""
        await self.stop_fetching()
