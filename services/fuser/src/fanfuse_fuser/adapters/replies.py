"""Lane replies: live ones by a subscription per plan, stored ones by one batched direct get."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from nats.aio.msg import Msg

from fanfuse_contracts import limits, streams, subjects
from fanfuse_contracts.headers import TRACEPARENT
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_fuser.ports import RawReply
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("fuser.replies")


class BusReplies:
    """Subscribes to what the server republishes after storing, so that a reply is read or heard, never missed."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    @asynccontextmanager
    async def listening(self, tenant: str, query_id: str, on_reply: Callable[[RawReply], None]) -> AsyncIterator[None]:
        """Not flushed: the read of `stored` goes the same way after it, so the server knows the interest by then."""

        async def on_message(msg: Msg) -> None:
            on_reply(RawReply(_lane(msg.subject), msg.data, (msg.headers or {}).get(TRACEPARENT, "")))

        async with self._bus.subscribed(subjects.live_retrieved_of_query(tenant, query_id), on_message):
            yield

    async def stored(self, tenant: str, query_id: str, timeout_s: float) -> Sequence[RawReply]:
        """The stored reply of every lane. The stream may be gone with the broker: then there is nothing to read."""
        pattern = subjects.retrieved_of_query(tenant, query_id)
        try:
            within_s = min(timeout_s, limits.PUBLISH_TIMEOUT_S)
            found = await self._bus.last_of_each(streams.RETRIEVED.name, pattern, within_s)
        except BusError as error:
            if timeout_s * 1e3 >= limits.FAIR_CALL_MS:
                self._bus.stalled()
            _log.warning("fuser.stored_replies_unreadable", error=str(error))
            return ()
        return [
            RawReply(_lane(message.subject), message.data, message.headers.get(TRACEPARENT, ""))
            for message in sorted(found, key=lambda m: m.sequence)
        ]


def _lane(subject: str) -> str:
    try:
        return subjects.parse_lane(subject)
    except InvalidTokenError:
        return ""  # no lane has this name: the reply is refused and counted
