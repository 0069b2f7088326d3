"""One connection to the bus: connect within a bound, publish with retries, read a stored message, request.

In: subjects and bytes. Out: what the server said, or a typed `ClientError`. It knows no query and no answer.
"""

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from fanfuse_client.errors import ClientError, NotAllowed, NotConnected, Overloaded, TooLarge, Unavailable
from fanfuse_contracts import limits
from fanfuse_contracts.access import Access
from fanfuse_contracts.addresses import checked_addresses, without_login
from fanfuse_contracts.refusals import Refusal, Refusals, advice_on, is_final, is_unknown_user, reason_of
from fanfuse_contracts.tls import secure

CONNECT_TIMEOUT_S: Final = 5.0
_RECONNECT_WAIT_S: Final = 0.2
_RETRY_DELAYS_S: Final = (0.1, 0.3, 1.0)
_HEADER_BYTES: Final = 1_024
_MAX_PENDING_BYTES: Final = 8 * 1024 * 1024

_ITS_OWN: Final = (
    "connect as a user of the tenant (access=Access(nkey=…); of `fanfuse`: FANFUSE_NATS_NKEY, "
    "and FANFUSE_NATS_USER unset)"
)
_log = logging.getLogger(__name__)


class Connection:
    """A NATS client that reconnects for ever once it was connected."""

    def __init__(self, url: str, tenant: str, access: Access) -> None:
        self._url = checked_addresses(url)
        self._tenant = tenant
        self._access = access
        self._refusals = Refusals(access.inbox)
        self._last_error = ""
        self.nc = NatsClient()
        secure(self.nc, demanded=access.demands_tls(url))
        self.on_reconnected: Callable[[], Awaitable[None]] | None = None

    async def open(self) -> None:
        """Connect; raises `NotConnected` when that takes longer than five seconds, `NotAllowed` where it is refused."""
        connecting = self.nc.connect(
            self._url.split(","),
            name="fanfuse-client",
            max_reconnect_attempts=-1,
            reconnect_time_wait=_RECONNECT_WAIT_S,  # type: ignore[arg-type]
            pending_size=_MAX_PENDING_BYTES,
            error_cb=self._on_error,
            reconnected_cb=self._on_reconnected,
            **self._access.options(),
        )
        try:
            await asyncio.wait_for(connecting, CONNECT_TIMEOUT_S)
        except (NatsError, OSError, TimeoutError) as error:
            await self.close()
            self._refuse_unknown(error)
            why = self._last_error or reason_of(error)
            advice = advice_on(why) or "is the bus running there?"
            raise NotConnected(f"no connection to {without_login(self._url)}: {why}; {advice}") from error

    async def close(self) -> None:
        """Send what is buffered and close."""
        if not self.nc.is_closed:
            with suppress(OSError):  # the socket is gone: nothing can be sent any more
                await self.nc.close()

    def _refuse_unknown(self, error: Exception) -> None:
        if is_unknown_user(self._last_error):
            told = f"the bus at {without_login(self._url)} does not let the client in, as {self._access.told}"
            raise NotAllowed(f"{told}: {_ITS_OWN}") from error

    async def _on_error(self, error: Exception) -> None:
        told = reason_of(error)
        if not is_final(self._last_error):  # the server hangs up after it, which is only what follows from it
            self._last_error = told
        self._refusals.hear(error)
        _log.debug("bus: %s", told)

    async def _on_reconnected(self) -> None:
        self._last_error = ""
        self._refusals.forget()
        if self.on_reconnected is not None:
            await self.on_reconnected()

    def allowed(self, *subjects: str) -> AbstractAsyncContextManager[None]:
        """End the block with `NotAllowed` as soon as the bus refuses one of these subjects."""
        return self._refusals.raised_as(self._not_allowed, *subjects)

    def _not_allowed(self, refusal: Refusal) -> NotAllowed:
        of = f"of tenant {self._tenant}" if self._refusals.hears_replies else f"that of user {self._access.user}"
        return NotAllowed(f"the key is not {of}: {self._access.told} {refusal}; {_ITS_OWN}")

    # -- publish ------------------------------------------------------------------------------------------------

    async def publish(self, subject: str, payload: bytes, headers: dict[str, str]) -> None:
        """Publish into a stream until it is acknowledged.

        A refused or unanswered publish is sent again with the same headers, so the server stores it once. Raises
        `TooLarge`, `Overloaded`, `NotConnected` or `NotAllowed`.
        """
        self._check_size(payload, headers)
        async with self.allowed(subject):
            await self._publish_until_stored(subject, payload, headers)

    async def _publish_until_stored(self, subject: str, payload: bytes, headers: dict[str, str]) -> None:
        refused: ClientError
        for delay_s in (*_RETRY_DELAYS_S, None):
            try:
                await self._publish_once(subject, payload, headers)
            except (Overloaded, NotConnected) as error:
                refused = error
            else:
                return
            if delay_s is not None:
                await asyncio.sleep(delay_s * random.uniform(0.8, 1.2))
        raise refused

    def _check_size(self, payload: bytes, headers: dict[str, str]) -> None:
        # The server closes the connection of whoever sends more, headers included.
        size = len(payload) + _HEADER_BYTES + sum(map(len, headers.values()))
        if size > self.nc.max_payload:
            raise TooLarge(f"the query has {size} bytes with its headers: the bus takes {self.nc.max_payload}")

    async def _publish_once(self, subject: str, payload: bytes, headers: dict[str, str]) -> None:
        try:
            answer = await self.nc.request(subject, payload, timeout=limits.PUBLISH_TIMEOUT_S, headers=headers)
        except MaxPayloadError as error:
            raise TooLarge(f"the query has {len(payload)} bytes: the bus takes {self.nc.max_payload}") from error
        except NoRespondersError as error:
            raise Overloaded(
                f"the bus stores no queries of tenant {self._tenant} now: its services have not been started there, "
                "this user's account there is not the tenant's, or it is new and the server has yet to read it again"
            ) from error
        except (NatsError, TimeoutError) as error:
            if not self.nc.is_connected:
                self._refuse_unknown(error)
                raise NotConnected(
                    f"the connection to {without_login(self._url)} is lost; it is tried again all the time"
                ) from error
            raise Overloaded(f"the bus did not accept the query: {str(error) or 'no answer'}") from error
        said = json.loads(answer.data)
        if "error" in said:
            raise Overloaded(f"the bus refused the query: {said['error'].get('description', 'no reason given')}")

    async def flush(self) -> None:
        """Return when the bus has heard of every subscription. Raises `NotConnected`."""
        try:
            await self.nc.flush(timeout=2)
        except (NatsError, TimeoutError) as error:
            raise NotConnected(f"the connection to {without_login(self._url)} is lost: {error}") from error

    async def send(self, subject: str, headers: dict[str, str]) -> None:
        """Publish an empty core message, with no acknowledgement. Raises `NotConnected`, `NotAllowed`."""
        async with self.allowed(subject):
            try:
                await self.nc.publish(subject, b"", headers=headers)
            except (NatsError, TimeoutError) as error:
                raise NotConnected(f"the connection to {without_login(self._url)} is lost: {error}") from error
            await self.flush()
            await self.flush()  # nats-py sends its first ping before what it still holds: the second one comes after it

    # -- ask ----------------------------------------------------------------------------------------------------

    async def request(self, subject: str, payload: bytes, headers: dict[str, str], timeout_s: float) -> bytes:
        """Core request/reply. Raises `TooLarge`; `Unavailable` when nobody answers."""
        self._check_size(payload, headers)
        return (await self._request(subject, payload, headers, timeout_s)).data

    async def last(self, stream: str, subject: str) -> bytes | None:
        """The last message a stream holds on a subject, or None."""
        answer = await self._request(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"", None, limits.PUBLISH_TIMEOUT_S)
        return answer.data if "Nats-Sequence" in (answer.headers or {}) else None

    async def _request(self, subject: str, payload: bytes, headers: dict[str, str] | None, timeout_s: float) -> Msg:
        try:
            async with self.allowed(subject):
                return await self.nc.request(subject, payload, timeout=timeout_s, headers=headers)
        except NoRespondersError as error:
            raise Unavailable(
                "no service answers this request: are the services running, and reached from this user's account?"
            ) from error
        except NatsTimeoutError as error:
            raise Unavailable(f"no answer within {timeout_s:g} s") from error
        except NatsError as error:
            raise NotConnected(f"the connection to {without_login(self._url)} is lost: {error}") from error
