"""The connection of a process to NATS: it reconnects for ever, tells why it can't, and is closed without hanging.

In: settings and what to do after a reconnect. Out: FastStream's broker and the nats-py client below it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from faststream.nats import NatsBroker
from faststream.nats.security import NatsCredentials, NatsNKey, NatsSecurity, NatsUserPassword
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import SlowConsumerError

from fanfuse_contracts import metrics
from fanfuse_contracts.access import Access
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.settings import RuntimeSettings

_log = get_logger("bus")
_RECONNECT_WAIT_S = 0.2
_ERROR_LOG_EVERY_S = 5.0
_STOP_TIMEOUT_S = 5.0


class Connection:
    """One connection; `on_reconnect` runs as a task of its own after each reconnect."""

    def __init__(
        self, settings: RuntimeSettings, metrics_: Metrics, on_reconnect: Callable[[], Awaitable[None]]
    ) -> None:
        self._metrics = metrics_
        self._on_reconnect = on_reconnect
        self._next_error_log = 0.0
        self._client: Client | None = None
        access = settings.access()
        self.broker = NatsBroker(
            settings.nats_url.split(","),
            name="fanfuse",
            # Once a client gave up for good nothing brings it back: reconnect for ever.
            max_reconnect_attempts=-1,
            reconnect_time_wait=_RECONNECT_WAIT_S,  # type: ignore[arg-type]
            connect_timeout=5,
            ping_interval=5,
            error_cb=self._note_error,
            disconnected_cb=self._note_disconnect,
            reconnected_cb=self._on_reconnect,
            apply_types=False,
            serializer=None,
            logger=None,
            security=_security(access),
            inbox_prefix=access.inbox,
        )

    async def open(self) -> Client:
        """Connect; waits for as long as the broker is away."""
        self._client = await self.broker.connect()
        return self._client

    @property
    def problem(self) -> str | None:
        """Why messages can't travel now, or None."""
        if self._client is None:
            return "not connected to NATS yet"
        if self._client.is_closed:
            return "the connection to NATS is closed"
        return None if self._client.is_connected else "not connected to NATS"

    @property
    def is_lost(self) -> bool:
        """True if the connection will never come back: the process must be replaced."""
        return self._client is not None and self._client.is_closed

    async def close(self) -> None:
        """Unsubscribe, drain and close, within a bound."""
        # With the broker gone every write fails in some way of a socket; there is nothing left to save.
        with suppress(NatsError, TimeoutError, OSError):
            await asyncio.wait_for(self.broker.stop(), _STOP_TIMEOUT_S)
        with suppress(NatsError, OSError):
            if self._client is not None and not self._client.is_closed:
                await self._client.close()

    async def _note_error(self, error: Exception) -> None:
        if isinstance(error, SlowConsumerError):
            self._metrics.inc(metrics.SLOW_CONSUMER_TOTAL)
        # While the broker is away every attempt fails, five times a second: one line in five seconds is enough.
        if time.monotonic() >= self._next_error_log:
            self._next_error_log = time.monotonic() + _ERROR_LOG_EVERY_S
            _log.warning("bus.error", error=str(error) or type(error).__name__)

    async def _note_disconnect(self) -> None:
        _log.warning("bus.disconnected")


def _security(access: Access) -> NatsSecurity:
    """The same as `Access.options`, as FastStream wants it."""
    tls = access.tls()
    if access.nkey is not None:
        return NatsNKey.from_file(access.nkey, ssl_context=tls)
    if access.creds is not None:
        return NatsCredentials.from_file(access.creds, ssl_context=tls)
    if access.user is not None and access.password is not None:
        return NatsUserPassword(access.user, access.password, ssl_context=tls)
    return NatsSecurity(ssl_context=tls)
