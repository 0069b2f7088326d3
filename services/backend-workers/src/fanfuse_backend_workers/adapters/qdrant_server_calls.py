"""Calls to a Qdrant server: a bounded number at once, each within its time, each failure of one typed kind.

In: a call of the client. Out: its result, or `SearchError`. No message repeats what the server said: it may hold the
text of a chunk. A connection that is waited for takes from the call's own time.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from json import JSONDecodeError
from typing import Final, TypeVar

import httpx
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from fanfuse_backend_workers.adapters.trust import NOT_TRUSTED, is_mistrust
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

T = TypeVar("T")

_RETRY_AFTER_S: Final = (0.01, 0.05)
_BROKEN_SOCKET: Final = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
"""What the first call on a socket meets that the server has closed while it was idle."""
_MISSING_IN_PROCESS: Final = re.compile(r"Collection \S+ not found")
_WRONG_SIZE: Final = b"dimension error"
_KINDS: Final = {
    400: (FailureKind.BAD_REQUEST, "the server refused the request"),
    401: (FailureKind.CONFIG, "the server refuses these credentials"),
    403: (FailureKind.CONFIG, "the server refuses these credentials"),
    404: (FailureKind.NOT_FOUND, "the server has no such collection"),
    408: (FailureKind.TIMEOUT, "the server gave up"),
    409: (FailureKind.BAD_REQUEST, "the server refused the request"),
    413: (FailureKind.TOO_LARGE, "the request is larger than the server takes"),
    422: (FailureKind.BAD_REQUEST, "the server refused the request"),
    429: (FailureKind.OVERLOADED, "the server is overloaded"),
    504: (FailureKind.TIMEOUT, "the server gave up"),
}


class QdrantError(SearchError):
    """A call failed. `wait_s`: the same call may succeed after so many seconds; None: it will not."""

    def __init__(self, kind: FailureKind, message: str, wait_s: float | None = None) -> None:
        super().__init__(kind, message)
        self.wait_s = wait_s


class QdrantCalls:
    """The calls of one client."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._free = asyncio.Semaphore(connections)
        self.closed = False

    async def run(self, call: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        """The result of `call()` within `timeout_s`, once. Raises `QdrantError`."""
        if self.closed:
            raise QdrantError(FailureKind.UNAVAILABLE, "the connection to the server is closed")
        connected = False
        try:
            async with asyncio.timeout(timeout_s), self._free:
                connected = True
                return await call()
        except TimeoutError as error:
            if connected:
                raise QdrantError(FailureKind.TIMEOUT, f"no answer within {timeout_s:.3f} s") from error
            message = f"all {self._connections} connections were busy for {timeout_s:.3f} s"
            raise QdrantError(FailureKind.OVERLOADED, message) from error
        except (ApiException, QdrantException) as error:
            raise typed(error) from None
        except (JSONDecodeError, UnicodeDecodeError) as error:  # the client lets them through
            raise _of_transport(error) from None
        except ValueError as error:  # how the client in process says it
            if _MISSING_IN_PROCESS.match(str(error)):
                raise QdrantError(FailureKind.NOT_FOUND, "there is no such collection") from error
            raise

    async def run_again(self, call: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        """The same, and once more where that can help and time is left. Raises `QdrantError`."""
        ends = asyncio.get_running_loop().time() + timeout_s
        try:
            return await self.run(call, timeout_s)
        except QdrantError as error:
            left_s = ends - asyncio.get_running_loop().time()
            if error.wait_s is None or error.wait_s >= left_s:
                raise
            await asyncio.sleep(error.wait_s)
        return await self.run(call, ends - asyncio.get_running_loop().time())


def typed(error: ApiException | QdrantException) -> QdrantError:
    """The failure behind an exception of the client."""
    match error:
        case ResourceExhaustedResponse(retry_after_s=wait_s):
            return QdrantError(*_KINDS[429], wait_s=max(wait_s, _soon_s()))
        case QdrantException():  # an overloaded server says when to come again, in no known form
            return QdrantError(*_KINDS[429])
        case UnexpectedResponse(status_code=400, content=content) if _WRONG_SIZE in content:
            return QdrantError(FailureKind.CONFIG, "the vectors of the collection are of another size")
        case UnexpectedResponse(status_code=int(status), headers=headers):
            return _of_status(status, headers.get("Retry-After"))
        case ResponseHandlingException(source=source):
            return _of_transport(source)
    return QdrantError(FailureKind.UNAVAILABLE, f"the server failed: {type(error).__name__}")


def _of_status(status: int, retry_after: str | None) -> QdrantError:
    kind, meaning = _KINDS.get(status, _fallback(status))
    return QdrantError(kind, f"{meaning} (status {status})", _wait_s(retry_after) if status in (429, 503) else None)


def _fallback(status: int) -> tuple[FailureKind, str]:
    if 400 <= status < 500:
        return FailureKind.BAD_REQUEST, "the server refused the request"
    return FailureKind.UNAVAILABLE, "the server failed"


def _wait_s(retry_after: str | None) -> float | None:
    if retry_after is None:
        return _soon_s()
    return max(float(retry_after), _soon_s()) if retry_after.isascii() and retry_after.isdigit() else None


def _soon_s() -> float:
    return random.uniform(*_RETRY_AFTER_S)


def _of_transport(source: Exception) -> QdrantError:
    what = type(source).__name__
    match source:
        case httpx.PoolTimeout():
            return QdrantError(FailureKind.OVERLOADED, "no connection to the server became free")
        case httpx.TimeoutException():
            return QdrantError(FailureKind.TIMEOUT, f"the server did not answer in time: {what}")
        case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.LocalProtocolError():
            return QdrantError(FailureKind.CONFIG, f"the server's url or headers are not usable: {what}")
        case httpx.ConnectError() if is_mistrust(source):
            return QdrantError(FailureKind.CONFIG, NOT_TRUSTED)
        case httpx.TransportError():
            again = _soon_s() if isinstance(source, _BROKEN_SOCKET) else None
            return QdrantError(FailureKind.UNAVAILABLE, f"the server can not be reached: {what}", again)
        case _:
            return QdrantError(FailureKind.UNAVAILABLE, f"the server's answer can not be read: {what}")
