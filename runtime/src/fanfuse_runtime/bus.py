"""The bus as services use it: publish with acknowledgement, send, request, direct get, and broker time.

Everything accepts and returns contract models and raises typed `BusError`s. Subjects come from contracts' builders.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext, api
from nats.js.errors import APIError

from fanfuse_contracts import headers as names
from fanfuse_contracts import limits
from fanfuse_contracts.base import Model
from fanfuse_contracts.flow import Channel
from fanfuse_runtime.clock import BrokerClock, parse_rfc3339_ns
from fanfuse_runtime.errors import NoResponderError, PublishRefusedError, RequestTimeoutError, TooLargeError
from fanfuse_runtime.telemetry import inject

_DIRECT_GET = "$JS.API.DIRECT.GET"
_ONE_PER_SUBJECT = "maximum messages per subject"
_FOUND = frozenset({"Nats-Stream", "Nats-Sequence"})


@dataclass(frozen=True, slots=True)
class Stored:
    """What the broker said of a published message."""

    sequence: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Publication:
    """One message to publish into a stream."""

    channel: Channel
    subject: str
    message: Model
    message_id: str


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message read back from a stream."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    stored_ns: int
    sequence: int


class Bus:
    """One connection of one process."""

    def __init__(self, client: Client, clock: BrokerClock, instance: str) -> None:
        self.nc = client
        self.js: JetStreamContext = client.jetstream(timeout=limits.PUBLISH_TIMEOUT_S)
        self.instance = instance
        self._clock = clock

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

    # -- publish ------------------------------------------------------------------------------------------------

    async def publish(self, channel: Channel, subject: str, message: Model, message_id: str) -> Stored:
        """Publish into a stream and wait for the acknowledgement. Raises `PublishRefusedError`, `TooLargeError`."""
        return (await self.publish_all((Publication(channel, subject, message, message_id),)))[0]

    async def publish_all(self, publications: Sequence[Publication]) -> list[Stored]:
        """Publish several messages at once; all acknowledgements are awaited together.

        The first failure is raised when every acknowledgement is in; what was stored stays stored.
        """
        futures = [await self._start_publish(publication) for publication in publications]
        done = await asyncio.gather(
            *(asyncio.wait_for(future, limits.PUBLISH_TIMEOUT_S) for future in futures), return_exceptions=True
        )
        return [_stored(publication, outcome) for publication, outcome in zip(publications, done, strict=True)]

    async def _start_publish(self, publication: Publication) -> asyncio.Future[api.PubAck]:
        payload = publication.message.to_json()
        if len(payload) + 1_024 > self.nc.max_payload:
            raise TooLargeError(
                f"{publication.channel.name} has {len(payload)} bytes: the broker takes {self.nc.max_payload}"
            )
        header = inject({names.MESSAGE_ID: publication.message_id})
        try:
            return await self.js.publish_async(publication.subject, payload, headers=header)
        except MaxPayloadError as error:
            raise TooLargeError(f"{publication.channel.name} is larger than the broker's max_payload") from error
        except NatsError as error:
            raise PublishRefusedError(f"{publication.channel.name}: {error}") from error

    async def send(self, channel: Channel, subject: str, message: Model | None = None) -> None:
        """Publish without storage or acknowledgement."""
        payload = message.to_json() if message is not None else b""
        if len(payload) > self.nc.max_payload:
            raise TooLargeError(f"{channel.name} has {len(payload)} bytes: the broker takes {self.nc.max_payload}")
        await self.nc.publish(subject, payload, headers=inject({}))

    async def request(self, channel: Channel, subject: str, message: Model, timeout_s: float) -> bytes:
        """Ask and wait for one answer. Raises `NoResponderError`, `RequestTimeoutError`."""
        try:
            answer = await self.nc.request(subject, message.to_json(), timeout=timeout_s, headers=inject({}))
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

    async def last_of_each(self, stream: str, pattern: str) -> list[StoredMessage]:
        """The last message of every subject that matches, in one batched direct get (server 2.11 or newer)."""
        found: list[StoredMessage] = []
        done = asyncio.Event()

        async def on_message(msg: Msg) -> None:
            stored = _stored_message(msg)
            if stored is None:
                done.set()
            else:
                found.append(stored)

        async with self.subscribed(self.nc.new_inbox(), on_message) as inbox:
            request = json.dumps({"multi_last": [pattern]}).encode()
            await self.nc.publish(f"{_DIRECT_GET}.{stream}", request, reply=inbox)
            try:
                await asyncio.wait_for(done.wait(), limits.PUBLISH_TIMEOUT_S)
            except TimeoutError as error:
                raise PublishRefusedError(f"stream {stream} did not answer a batched read") from error
        return found

    @asynccontextmanager
    async def subscribed(self, subject: str, on_message: Callable[[Msg], Awaitable[None]]) -> AsyncIterator[str]:
        """A core subscription for the time of a block; not flushed."""
        subscription = await self.nc.subscribe(subject, cb=on_message)
        try:
            yield subject
        finally:
            if not self.nc.is_closed:
                await subscription.unsubscribe()


def _stored(publication: Publication, outcome: api.PubAck | BaseException) -> Stored:
    if isinstance(outcome, api.PubAck):
        return Stored(outcome.seq, bool(outcome.duplicate))
    if isinstance(outcome, APIError) and _ONE_PER_SUBJECT in (outcome.description or ""):
        return Stored(0, duplicate=True)
    if isinstance(outcome, NatsError | TimeoutError):
        why = str(outcome) or "no answer"
        raise PublishRefusedError(f"{publication.channel.name} was not stored: {why}") from outcome
    raise outcome


def _stored_message(msg: Msg) -> StoredMessage | None:
    header = msg.headers or {}
    if not header.keys() >= _FOUND:
        return None
    return StoredMessage(
        subject=header["Nats-Subject"],
        data=msg.data,
        headers=header,
        stored_ns=parse_rfc3339_ns(header["Nats-Time-Stamp"]),
        sequence=int(header["Nats-Sequence"]),
    )
