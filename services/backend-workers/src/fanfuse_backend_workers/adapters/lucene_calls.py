"""Calls to an Elasticsearch or OpenSearch server: bounded in number, in time and in attempts.

In: a call and how long it may take. Out: the JSON of the reply, or a typed failure. Waiting for a free connection and
between attempts counts against the call's time. A call is sent again only where that is safe and can help: a socket
that died, 429 or 503, never a refused connection and never a breaker that says PERMANENT.
"""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from fanfuse_backend_workers.adapters.lucene_failures import ServerError, failure
from fanfuse_contracts.enums import FailureKind

_AFTER_LOST_S: Final = 0.02
_LEAST_LEFT_S: Final = 0.02
"""With less time than this an attempt is not worth starting."""


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request. `body` is JSON, or lines of JSON where `lines` is set; sending it twice changes nothing."""

    name: str
    method: str
    path: str
    body: bytes | None = None
    lines: bool = False
    params: Mapping[str, str] = field(default_factory=dict)


class Reply(NamedTuple):
    """A reply of any status; `body` is None where it is no JSON."""

    status: int
    body: Any
    after_s: float | None = None
    """From the header Retry-After."""


class Patience(NamedTuple):
    """How long a call may take in all, how often it is sent again, and the first pause (doubled each time)."""

    within_s: float
    retries: int
    pause_s: float
    most_pause_s: float = 5.0
    each_s: float = float("inf")
    """How long one attempt may take."""
    outlasts: bool = False
    """True: also a server that is down or does not answer is tried again, as a load waits for a restart."""


class ConnectionLostError(Exception):
    """The socket died; `reached` is False where none could be opened."""

    def __init__(self, reached: bool) -> None:
        super().__init__()
        self.reached = reached


class Sender(Protocol):
    """A client library, reduced to what is needed."""

    async def send(self, call: Call, timeout_s: float) -> Reply:
        """Send once. Raises `ConnectionLostError`, `TimeoutError`, or `ServerError(CONFIG)` for what no retry mends."""
        ...

    async def close(self) -> None:
        """Close every socket."""
        ...


class Calls:
    """One client, shared by every corpus on it."""

    def __init__(self, sender: Sender, connections: int) -> None:
        self._sender = sender
        self._slots = asyncio.Semaphore(connections)
        self._closed = False

    async def ask(self, call: Call, patience: Patience) -> Any:
        """The reply's JSON. Raises `ServerError`."""
        deadline = time.monotonic() + patience.within_s
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._once(call, min(deadline, time.monotonic() + patience.each_s))
            except ServerError as error:
                pause = pause_after(error, patience, attempt)
                if pause is None or time.monotonic() + pause + _LEAST_LEFT_S > deadline:
                    raise _counted(error, attempt) from error
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Close every socket; calls that run fail."""
        self._closed = True
        await self._sender.close()

    async def _once(self, call: Call, deadline: float) -> Any:
        waiting = True
        try:
            async with asyncio.timeout(deadline - time.monotonic()), self._slots:
                waiting = deadline - time.monotonic() < _LEAST_LEFT_S
                if waiting:
                    raise TimeoutError
                reply = await self._send(call, deadline)
        except TimeoutError as error:
            if waiting:
                raise ServerError(FailureKind.OVERLOADED, "no connection to the server was free in time") from error
            raise ServerError(FailureKind.TIMEOUT, "the server did not answer in time") from error
        if not 200 <= reply.status < 300:
            raise failure(reply.status, reply.body, reply.after_s)
        if not isinstance(reply.body, dict):
            raise ServerError(FailureKind.UNAVAILABLE, "what answers there is no search server: its reply is no JSON")
        return reply.body

    async def _send(self, call: Call, deadline: float) -> Reply:
        if self._closed:
            raise ServerError(FailureKind.UNAVAILABLE, "the client is closed", again=False)
        try:
            return await self._sender.send(call, deadline - time.monotonic())
        except ConnectionLostError as error:
            message = "the connection was lost" if error.reached else "the server cannot be reached"
            again = True if error.reached else None
            after_s = _AFTER_LOST_S if error.reached else None
            raise ServerError(FailureKind.UNAVAILABLE, message, again=again, after_s=after_s) from error


def pause_after(error: ServerError, patience: Patience, attempt: int) -> float | None:
    """Seconds to the next attempt; None: there is none."""
    again = patience.outlasts and error.kind.counts_against_backend if error.again is None else error.again
    if not again or attempt > patience.retries:
        return None
    pause: float = min(patience.pause_s * 2.0 ** (attempt - 1), patience.most_pause_s)
    if error.after_s is not None:
        pause = error.after_s if attempt == 1 else max(pause, error.after_s)
    return pause * random.uniform(1.0, 1.5)


def _counted(error: ServerError, attempts: int) -> ServerError:
    if attempts == 1:
        return error
    return ServerError(error.kind, f"{error.message}; {attempts} attempts", after_s=error.after_s, cause=error.cause)
