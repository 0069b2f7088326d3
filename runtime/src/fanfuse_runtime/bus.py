"""The bus as services use it: publish with acknowledgement, send, request, direct get, and broker time.

Everything accepts and returns contract models and raises typed `BusError`s. Subjects come from contracts' builders.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.errors import APIError
from pydantic_core import from_json, to_json

from fanfuse_contracts import headers as names
from fanfuse_contracts import limits
from fanfuse_contracts.base import Model
from fanfuse_contracts.flow import Channel
from fanfuse_runtime.asking import Asking, Reply, answer_of
from fanfuse_runtime.clock import BrokerClock, parse_rfc3339_ns
from fanfuse_runtime.errors import (
    BusError,
    NoResponderError,
    PublishRefusedError,
    RequestTimeoutError,
    TooLargeError,
    UnacknowledgedError,
)
from fanfuse_runtime.telemetry import inject

_DIRECT_GET = "$JS.API.DIRECT.GET"
_STREAM_INFO = "$JS.API.STREAM.INFO"
_ONE_PER_SUBJECT = "maximum messages per subject"
_HEADERS_BYTES = 1_024
_STREAM, _ERROR, _DUPLICATE = b'"stream"', b'"error"', b'"duplicate"'
_FOUND = frozenset({"Nats-Stream", "Nats-Sequence"})


class Stored(NamedTuple):
    """What the broker said of a published message."""

    duplicate: bool
    """True if the stream had it already."""


_NEW = Stored(duplicate=False)


class Publication(NamedTuple):
    """One message to publish into a stream."""

    channel: Channel
    subject: str
    message: Model | bytes
    """Bytes: its JSON, where that was written before."""
    message_id: str


class StoredMessage(NamedTuple):
    """A message read back from a stream."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    sequence: int

    @property
    def stored_ns(self) -> int:
        """When the broker stored it, nanoseconds since the epoch in broker time."""
        return parse_rfc3339_ns(self.headers["Nats-Time-Stamp"])


class Bus:
    """One connection of one process."""

    def __init__(self, client: Client, clock: BrokerClock, instance: str) -> None:
        self.nc = client
        self.js: JetStreamContext = client.jetstream(timeout=limits.PUBLISH_TIMEOUT_S)
        self.instance = instance
        self._clock = clock
        self._asking = Asking(client)
        self._back_at = -math.inf

    def reconnected(self) -> None:
        """The connection was lost and is there again."""
        self._back_at = time.monotonic()

    def stalled(self) -> None:
        """A stream gave no answer in time, as while a cluster elects its leader: what waits for it waits as well."""
        self._back_at = time.monotonic()

    # -- time ---------------------------------------------------------------------------------------------------

    def now_ns(self) -> int:
        """Broker time, nanoseconds since the epoch."""
        return self._clock.now_ns()

    def elapsed_ms(self, submitted_ns: int) -> float:
        """Milliseconds of broker time since a message was stored; never negative."""
        return max(0.0, (self.now_ns() - submitted_ns) / 1e6)

    def remaining_ms(self, submitted_ns: int, budget_ms: int) -> float:
        """Milliseconds left of a budget; negative when it is over."""
        return budget_ms - self.elapsed_ms(submitted_ns)

    def was_interrupted(self, submitted_ns: int, budget_ms: int) -> bool:
        """True if the connection was lost, or a stream silent, since a query was stored or less than one budget before.

        What a query waits for may be lost while the bus is away. When it is back, all that had waited is carried out
        at once, and is over (answered or expired) after one budget.
        """
        back_ms = (time.monotonic() - self._back_at) * 1e3
        return not self.nc.is_connected or back_ms < self.elapsed_ms(submitted_ns) + budget_ms

    # -- publish ------------------------------------------------------------------------------------------------

    async def publish(self, channel: Channel, subject: str, message: Model | bytes, message_id: str) -> Stored:
        """Publish into a stream and wait for the acknowledgement.

        Raises `PublishRefusedError`, `UnacknowledgedError`, `TooLargeError`.
        """
        return await self._publish(Publication(channel, subject, message, message_id))

    async def publish_all(self, publications: Sequence[Publication]) -> list[Stored]:
        """Publish several messages at once; all acknowledgements are awaited together.

        The first failure is raised when every acknowledgement is in; what was stored stays stored. Where one is too
        large none is sent.
        """
        if len(publications) == 1:
            return [await self._publish(publications[0])]
        bodies = [self._body(publication) for publication in publications]
        sent = [await self._send(one, body) for one, body in zip(publications, bodies, strict=True)]
        stored: list[Stored] = []
        failures: list[BusError] = []
        for publication, reply in zip(publications, sent, strict=True):
            try:
                stored.append(await self._acknowledged(publication, reply))
            except BusError as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return stored

    async def _publish(self, publication: Publication) -> Stored:
        return await self._acknowledged(publication, await self._send(publication, self._body(publication)))

    def _body(self, publication: Publication) -> bytes:
        message = publication.message
        body = message if isinstance(message, bytes) else message.to_json()
        if len(body) + _HEADERS_BYTES > self.nc.max_payload:
            channel = publication.channel.name
            raise TooLargeError(f"{channel} has {len(body)} bytes: the broker takes {self.nc.max_payload}")
        return body

    async def _send(self, publication: Publication, body: bytes) -> Reply:
        # A plain request: nats-py's publish_async leaves its future open for ever when the stream answers an error.
        header = inject({names.MESSAGE_ID: publication.message_id}, hand_on=publication.channel.leads_on)
        try:
            return await self._asking.ask(publication.subject, body, header, limits.PUBLISH_TIMEOUT_S)
        except MaxPayloadError as error:
            raise TooLargeError(f"{publication.channel.name} is larger than the broker's max_payload") from error
        except NatsError as error:
            self.stalled()
            raise UnacknowledgedError(f"{publication.channel.name} was not acknowledged: {error}") from error

    async def _acknowledged(self, publication: Publication, reply: Reply) -> Stored:
        channel = publication.channel.name
        try:
            answer = answer_of(await reply)
        except NoRespondersError as error:
            raise PublishRefusedError(f"{channel} was not stored: no stream takes it") from error
        except NatsError as error:
            self.stalled()
            raise UnacknowledgedError(f"{channel} was not acknowledged: {error}") from error
        return _stored(channel, answer.data)

    async def send(self, channel: Channel, subject: str, message: Model | None = None) -> None:
        """Publish without storage or acknowledgement."""
        payload = message.to_json() if message is not None else b""
        if len(payload) > self.nc.max_payload:
            raise TooLargeError(f"{channel.name} has {len(payload)} bytes: the broker takes {self.nc.max_payload}")
        await self.nc.publish(subject, payload, headers=inject({}) or None)

    async def request(self, channel: Channel, subject: str, message: Model, timeout_s: float) -> bytes:
        """Ask and wait for one answer. Raises `NoResponderError`, `RequestTimeoutError`."""
        try:
            answer = await self._asking.request(subject, message.to_json(), inject({}), timeout_s)
        except NoRespondersError as error:
            raise NoResponderError(f"nobody answers {channel.name}: is the service running?") from error
        except NatsTimeoutError as error:
            raise RequestTimeoutError(f"{channel.name} was not answered within {timeout_s:.2f} s") from error
        return answer.data

    # -- read back ----------------------------------------------------------------------------------------------

    async def last(self, stream: str, subject: str) -> StoredMessage | None:
        """The last message stored on a subject, or None."""
        try:
            msg = await self.nc.request(f"{_DIRECT_GET}.{stream}.{subject}", b"", timeout=limits.PUBLISH_TIMEOUT_S)
        except NatsError as error:
            raise PublishRefusedError(f"stream {stream} cannot be read: {error}") from error
        return _stored_message(msg)

    async def last_of_each(
        self, stream: str, pattern: str, within_s: float = limits.PUBLISH_TIMEOUT_S
    ) -> list[StoredMessage]:
        """The last message of every subject that matches, in one batched direct get (server 2.11 or newer)."""
        found: list[StoredMessage] = []
        done = asyncio.Event()

        def on_message(msg: Msg) -> None:
            stored = _stored_message(msg)
            if stored is None:
                done.set()
            else:
                found.append(stored)

        await self._asking.subscribe()
        with self._asking.hearing(on_message) as inbox:
            request = to_json({"multi_last": [pattern]})
            await self.nc.publish(f"{_DIRECT_GET}.{stream}", request, reply=inbox)
            try:
                async with asyncio.timeout(within_s):
                    await done.wait()
            except TimeoutError as error:
                raise PublishRefusedError(f"stream {stream} did not answer a batched read") from error
        return found

    async def held(self, stream: str, pattern: str) -> int:
        """How many messages a stream holds on the subjects that match. Raises nats-py's errors."""
        request = to_json({"subjects_filter": pattern})
        answer = await self._asking.request(f"{_STREAM_INFO}.{stream}", request, {}, limits.PUBLISH_TIMEOUT_S)
        info = from_json(answer.data)
        if "error" in info:
            raise APIError.from_error(info["error"])
        return sum((info["state"].get("subjects") or {}).values())

    @asynccontextmanager
    async def subscribed(self, subject: str, on_message: Callable[[Msg], Awaitable[None]]) -> AsyncIterator[str]:
        """A core subscription for the time of a block; not flushed."""
        subscription = await self.nc.subscribe(subject, cb=on_message)
        try:
            yield subject
        finally:
            if not self.nc.is_closed:
                await subscription.unsubscribe()


def _stored(channel: str, answer: bytes) -> Stored:
    # Nearly every answer holds a stream's name and a sequence, and neither of these words.
    if _STREAM in answer and _ERROR not in answer and _DUPLICATE not in answer:
        return _NEW
    body = from_json(answer)
    error = body.get("error")
    if error is None:
        return Stored(duplicate=bool(body.get("duplicate")))
    description = error.get("description", "")
    if _ONE_PER_SUBJECT in description:
        return Stored(duplicate=True)
    raise PublishRefusedError(f"{channel} was not stored: {description}")


def _stored_message(msg: Msg) -> StoredMessage | None:
    header = msg.headers or {}
    if not header.keys() >= _FOUND:
        return None
    return StoredMessage(
        subject=header["Nats-Subject"],
        data=msg.data,
        headers=header,
        sequence=int(header["Nats-Sequence"]),
    )
