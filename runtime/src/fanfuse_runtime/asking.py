"""Requests of one process: all replies come in on one subscription, and no wait has a task or a timer of its own.

In: a subject, a body and who hears the replies. Out: each message, on an inbox of its own below a shared one. nats-py's
`request` makes a random inbox and waits through `asyncio.wait_for`, each time.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

_STATUS: Final = "Status"
_NO_RESPONDERS: Final = "503"
_LOOK_EVERY_S: Final = 0.1

Reply = asyncio.Future[Msg | None]
"""The message that came; None: none did in time."""


class Asking:
    """The replies that one process waits for. Bounded by what it asks at a time: every wait ends."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = ""
        self._numbers = count(1)
        self._waiting: dict[str, tuple[Reply, float]] = {}
        self._heard: dict[str, Callable[[Msg], None]] = {}
        self._looking = False

    async def subscribe(self) -> None:
        """Listen, from the first call on."""
        if not self._inbox:
            # Named before it waits for anything: so it is subscribed once, and before anything is asked.
            self._inbox = self._client.new_inbox()
            await self._client.subscribe(f"{self._inbox}.*", cb=self._hear)

    @contextmanager
    def hearing(self, on_message: Callable[[Msg], None]) -> Iterator[str]:
        """An inbox whose messages are all heard inside the block. `subscribe` comes first."""
        number = str(next(self._numbers))
        self._heard[number] = on_message
        try:
            yield f"{self._inbox}.{number}"
        finally:
            del self._heard[number]

    async def ask(self, subject: str, body: bytes, headers: dict[str, str], within_s: float) -> Reply:
        """Send a request whose one reply is then awaited, at most a tenth of a second longer than `within_s`.

        Raises nats-py's errors where it cannot be sent.
        """
        await self.subscribe()
        loop = asyncio.get_running_loop()
        number, reply = str(next(self._numbers)), loop.create_future()
        await self._client.publish(subject, body, f"{self._inbox}.{number}", headers or None)
        self._waiting[number] = reply, loop.time() + within_s
        if not self._looking:
            self._looking = True
            loop.call_later(_LOOK_EVERY_S, self._look, loop)
        return reply

    async def request(self, subject: str, body: bytes, headers: dict[str, str], within_s: float) -> Msg:
        """Ask and wait, no longer than `within_s`. Raises nats-py's `NoRespondersError` and `TimeoutError`."""
        reply = await self.ask(subject, body, headers, within_s)
        try:
            async with asyncio.timeout(within_s):
                return answer_of(await reply)
        except TimeoutError as error:
            raise NatsTimeoutError from error

    async def _hear(self, msg: Msg) -> None:
        number = msg.subject[len(self._inbox) + 1 :]
        reply, _ = self._waiting.pop(number, (None, 0.0))
        if reply is not None:
            _end(reply, msg)
        elif number in self._heard:
            self._heard[number](msg)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what waited for too long, and forget what nobody awaits any more."""
        now = loop.time()
        over = [number for number, (reply, until) in self._waiting.items() if until <= now or reply.done()]
        for number in over:
            _end(self._waiting.pop(number)[0], None)
        self._looking = bool(self._waiting)
        if self._looking:
            loop.call_later(_LOOK_EVERY_S, self._look, loop)


def _end(reply: Reply, msg: Msg | None) -> None:
    if not reply.done():
        reply.set_result(msg)


def answer_of(msg: Msg | None) -> Msg:
    """The reply, or nats-py's error for one that is none."""
    if msg is None:
        raise NatsTimeoutError
    if msg.headers and msg.headers.get(_STATUS) == _NO_RESPONDERS:
        raise NoRespondersError
    return msg
