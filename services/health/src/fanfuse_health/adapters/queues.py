"""Messages of work-queue streams by sequence, through the stream API."""

from collections.abc import Awaitable
from typing import Final, TypeVar

from nats.errors import Error as NatsError
from nats.js import api
from nats.js.errors import APIError, NotFoundError

from fanfuse_health.ports import QueuedMessage
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import PublishRefusedError

T = TypeVar("T")
_NOT_FOUND: Final = 10043
"""What the server says to the deletion of a message that is gone while others stand around its place."""
_DELETE_FAILED: Final = 10057
_GONE: Final = frozenset({"no message found", "stream store EOF"})
"""What 10057 says where none stands there; it also says other things, which are failures."""


class StreamQueues:
    """`WorkQueues` on JetStream."""

    def __init__(self, bus: Bus) -> None:
        self._js = bus.js

    async def read(self, stream: str, sequence: int) -> QueuedMessage | None:
        """None if it is gone."""
        return _queued(await _found(self._js.get_msg(stream, sequence)))

    async def next(self, stream: str, filter_subject: str, from_sequence: int) -> QueuedMessage | None:
        """The first message on a filter at or after a sequence."""
        return _queued(await _found(self._js.get_msg(stream, from_sequence, subject=filter_subject, next=True)))

    async def delivered(self, stream: str, durable: str) -> int | None:
        """Highest stream sequence a consumer ever delivered."""
        info = await _found(self._js.consumer_info(stream, durable))
        return info.delivered.stream_seq if info is not None and info.delivered is not None else None

    async def delete(self, stream: str, sequence: int) -> None:
        """Remove a message; no error if it is gone."""
        await _found(self._js.delete_msg(stream, sequence))


async def _found(call: Awaitable[T]) -> T | None:
    try:
        return await call
    except (NatsError, TimeoutError) as error:
        if isinstance(error, NotFoundError) or (isinstance(error, APIError) and _is_gone(error)):
            return None
        raise PublishRefusedError(f"a work queue did not answer: {str(error) or type(error).__name__}") from error


def _is_gone(error: APIError) -> bool:
    if error.err_code == _NOT_FOUND:
        return True
    return error.err_code == _DELETE_FAILED and error.description in _GONE


def _queued(message: api.RawStreamMsg | None) -> QueuedMessage | None:
    if message is None:
        return None
    stored_s = message.time.timestamp() if message.time is not None else 0.0
    return QueuedMessage(
        message.seq or 0, message.subject or "", message.data or b"", dict(message.headers or {}), int(stored_s * 1e9)
    )
