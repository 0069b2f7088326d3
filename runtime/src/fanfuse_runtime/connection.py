"""The connection of a process to NATS: it reconnects for ever, tells why it can't, and is closed without hanging.

In: settings and what to do after a reconnect. Out: FastStream's broker and the nats-py client below it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from faststream.nats import NatsBroker
from faststream.nats.security import NatsCredentials, NatsNKey, NatsSecurity, NatsUserPassword
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import SlowConsumerError

from fanfuse_contracts import limits, metrics, permissions
from fanfuse_contracts.access import Access
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.refusals import Refusal, Refusals, advice_on, is_unknown_user, reason_of
from fanfuse_contracts.tls import NoTlsError, secure
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import NotAllowedError, PlainBusError

_log = get_logger("bus")
_RECONNECT_WAIT_S = 0.2
_ERROR_LOG_EVERY_S = 5.0
_STOP_TIMEOUT_S = 5.0


class _Broker(NatsBroker):
    """FastStream's, over a client whose TLS is checked. It hears errors itself: FastStream's own callback raises some,
    which ends a reconnecting client for good."""

    note_error: Callable[[Exception], Awaitable[None]]
    demands_tls: bool

    async def _connect(self) -> Client:
        client = Client()
        secure(client, demanded=self.demands_tls)
        await client.connect(**self._connection_kwargs | {"error_cb": self.note_error})
        self.config.connect(client)
        return client


class Connection:
    """One connection; `on_reconnect` runs as a task of its own after each reconnect."""

    def __init__(
        self, settings: RuntimeSettings, metrics_: Metrics, on_reconnect: Callable[[], Awaitable[None]]
    ) -> None:
        self._metrics = metrics_
        self._on_reconnect = on_reconnect
        self._next_error_log = 0.0
        self._client: Client | None = None
        self._closing = False
        self._access = access = settings.access()
        self._refusals = Refusals(access.inbox)
        self.broker = _Broker(
            settings.nats_url.split(","),
            name="fanfuse",
            # Once a client gave up for good nothing brings it back: reconnect for ever.
            max_reconnect_attempts=-1,
            reconnect_time_wait=_RECONNECT_WAIT_S,  # type: ignore[arg-type]
            connect_timeout=5,
            ping_interval=5,
            disconnected_cb=self._note_disconnect,
            reconnected_cb=self._note_reconnect,
            apply_types=False,
            serializer=None,
            logger=None,
            security=_security(access),
            inbox_prefix=access.inbox,
        )
        self.broker.note_error = self._note_error
        self.broker.demands_tls = access.demands_tls(settings.nats_url)

    async def open(self) -> Client:
        """Connect; waits for as long as the broker is away. Raises `NotAllowedError` where it knows no such user,
        `PlainBusError` where it offers no TLS to who asks for it."""
        try:
            self._client = await self.broker.connect()
        except NoTlsError as error:
            raise PlainBusError(f"the bus: {error}; {advice_on(str(error))}") from error
        except NatsError as error:
            if not is_unknown_user(str(error)):
                raise
            told = f"the bus does not let this process in, as {self._access.told}"
            raise NotAllowedError(f"{told}: {_STATE_THE_USER}") from error
        return self._client

    def allowed(self) -> AbstractAsyncContextManager[None]:
        """End the block with `NotAllowedError` as soon as the bus refuses anything to this process's user."""
        return self._refusals.raised_as(self._not_allowed)

    def _not_allowed(self, refusal: Refusal) -> NotAllowedError:
        return NotAllowedError(f"on the bus this is {self._access.told}: {_advice(refusal)}")

    async def heard(self) -> None:
        """Return when the server has answered for all that was sent so far, with whatever it refuses."""
        with suppress(NatsError, TimeoutError):  # away just now: the process is not ready until it is back
            for _ in range(2):  # nats-py sends its ping before what it still holds: the second one comes after it
                if self._client is not None:
                    await self._client.flush(limits.PUBLISH_TIMEOUT_S)  # type: ignore[arg-type]

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
        self._closing = True
        # With the broker gone every write fails in some way of a socket; there is nothing left to save.
        with suppress(NatsError, TimeoutError, OSError):
            await asyncio.wait_for(self.broker.stop(), _STOP_TIMEOUT_S)
        with suppress(NatsError, OSError):
            if self._client is not None and not self._client.is_closed:
                await self._client.close()

    async def _note_error(self, error: Exception) -> None:
        if isinstance(error, SlowConsumerError):
            self._metrics.inc(metrics.SLOW_CONSUMER_TOTAL)
        if self._client is None and (isinstance(error, NoTlsError) or is_unknown_user(str(error))):
            raise error  # it ends the first connection; later ones are tried for ever
        refusal = self._refusals.hear(error)
        # While the broker is away every attempt fails, five times a second: one line in five seconds is enough.
        if time.monotonic() < self._next_error_log:
            return
        self._next_error_log = time.monotonic() + _ERROR_LOG_EVERY_S
        if refusal is not None:
            _log.error("bus.not_allowed", user=self._access.told, refused=str(refusal))
        else:
            told = reason_of(error)
            _log.warning("bus.error", error=told, **{"user": self._access.told} if is_unknown_user(told) else {})

    async def _note_disconnect(self) -> None:
        if not self._closing:
            _log.warning("bus.disconnected")

    async def _note_reconnect(self) -> None:
        self._refusals.forget()
        await self._on_reconnect()


_SERVICE_USERS: Final = ", ".join(
    permissions.user_of_stage(stage) for stage in Stage if stage is not Stage.BACKEND_WORKERS
)


_STATE_THE_USER: Final = (
    f"Each service is a user of its own, {_SERVICE_USERS} or WORKER-<KIND>-<POOL>: state the one of "
    "this process (FANFUSE_NATS_USER with FANFUSE_NATS_NKEY, FANFUSE_NATS_CREDS or FANFUSE_NATS_PASSWORD), or make "
    "the users again with `fanfuse deploy nats` after an upgrade"
)


def _advice(refusal: Refusal) -> str:
    if refusal.publishes and ".create." in refusal.subject:
        return f"it {refusal}: `fanfuse deploy setup` makes what is missing, FANFUSE_CREATES=nothing leaves that to it"
    return f"it {refusal}. {_STATE_THE_USER}"


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
