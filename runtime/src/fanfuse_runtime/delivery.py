"""One message as a handler sees it, and the acknowledgements only the runtime sends."""

import time
from collections.abc import Mapping
from typing import Final

from nats.aio.msg import Msg

from fanfuse_contracts import subjects
from fanfuse_contracts.subjects import QuerySubject

_ACK: Final = b"+ACK"
_TERM: Final = b"+TERM"
_IN_PROGRESS: Final = b"+WPI"


class Delivery:
    """One delivery of one message. Headers, stored time and delivery count are read only when asked for."""

    __slots__ = ("_msg", "_query", "_tokens", "received_at", "settled")

    def __init__(self, msg: Msg) -> None:
        self._msg = msg
        self._query: QuerySubject | None = None
        self._tokens: list[str] | None = None
        self.received_at = time.monotonic()
        self.settled = False

    @property
    def subject(self) -> str:
        """The concrete subject."""
        return self._msg.subject

    @property
    def data(self) -> bytes:
        """The payload."""
        return self._msg.data

    @property
    def reply(self) -> str:
        """Where an answer or an acknowledgement goes."""
        return self._msg.reply

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; empty where there are none."""
        return self._msg.headers or {}

    def _ack_token(self, position: int) -> int | None:
        if self._tokens is None:
            self._tokens = _ack_tokens(self._msg.reply)
        return int(self._tokens[position]) if self._tokens else None

    @property
    def deliveries(self) -> int:
        """How often this message has been delivered, this time included; 1 for core messages."""
        return self._ack_token(2) or 1

    @property
    def sequence(self) -> int:
        """Sequence in its stream; 0 for core messages."""
        return self._ack_token(3) or 0

    @property
    def stored_ns(self) -> int:
        """When the broker stored it, nanoseconds since the epoch in broker time; 0 for core messages."""
        return self._ack_token(5) or 0

    @property
    def query(self) -> QuerySubject:
        """Tenant and query id of a `query.…` subject; raises `InvalidTokenError` for other subjects."""
        if self._query is None:
            self._query = subjects.parse_query(self.subject)
        return self._query

    @property
    def tenant(self) -> str:
        """Tenant of a `query.…` subject; raises `InvalidTokenError` for other subjects."""
        return self.query.tenant

    @property
    def query_id(self) -> str:
        """Query id of a `query.…` subject; raises `InvalidTokenError` for other subjects."""
        return self.query.query_id

    def held_ms(self) -> float:
        """How long this process has had it, in milliseconds."""
        return (time.monotonic() - self.received_at) * 1e3

    async def _settle(self, what: bytes) -> None:
        if not self.settled and self._msg.reply:
            self.settled = True
            await self._msg._client.publish(self._msg.reply, what)

    async def ack(self) -> None:
        """Done: never deliver again."""
        await self._settle(_ACK)

    async def terminate(self) -> None:
        """Hopeless: never deliver again."""
        await self._settle(_TERM)

    async def retry_after(self, delay_s: float) -> None:
        """Deliver again after a delay."""
        await self._settle(b'-NAK {"delay": %d}' % int(delay_s * 1e9))

    async def in_progress(self) -> None:
        """Still at work: start the acknowledgement wait anew."""
        if not self.settled and self._msg.reply:
            await self._msg._client.publish(self._msg.reply, _IN_PROGRESS)


def _ack_tokens(reply: str) -> list[str]:
    # $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<timestamp>.<pending>, or the newer form with
    # domain and account hash in front (ADR-15 of the NATS architecture decisions).
    tokens = reply.split(".")
    if len(tokens) < 9 or tokens[0] != "$JS" or tokens[1] != "ACK":
        return []
    return tokens[2:9] if len(tokens) == 9 else tokens[4:11]
