"""OpenSearch 2.x and 3.x through opensearch-py's asynchronous client.

In: settings. Out: a `ServerBackend`. Nothing is sent before the first call. The client's own retries are off: there is
one place that decides about a second attempt.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

import aiohttp
from opensearchpy import AIOHttpConnection, AsyncOpenSearch
from opensearchpy.exceptions import ConnectionError as LostError
from opensearchpy.exceptions import ConnectionTimeout, SerializationError, SSLError, TransportError

from fanfuse_backend_workers.adapters.lucene_address import server_url, trust
from fanfuse_backend_workers.adapters.lucene_calls import Call, ConnectionLostError, Reply
from fanfuse_backend_workers.adapters.lucene_failures import ServerError, retry_after
from fanfuse_backend_workers.adapters.lucene_server import LuceneServer
from fanfuse_backend_workers.adapters.trust import NOT_TRUSTED
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from fanfuse_contracts.enums import FailureKind

_ANY_STATUS: Final = frozenset(range(300, 600))
_JSON: Final = {"content-type": "application/json"}
_LINES: Final = {"content-type": "application/x-ndjson"}


def connect(settings: ServerSettings) -> ServerBackend:
    """A client of one server; opens no socket. Raises `SearchError(CONFIG)` for settings it can't use."""
    return LuceneServer(OpenSearchSender(settings), settings)


class OpenSearchSender:
    """`Sender` over one `AsyncOpenSearch`."""

    def __init__(self, settings: ServerSettings) -> None:
        if settings.api_key is not None:
            raise ServerError(FailureKind.CONFIG, "OpenSearch takes username and password, no api_key")
        user = settings.username
        password = "" if settings.password is None else settings.password.get_secret_value()
        self._client = AsyncOpenSearch(
            hosts=[server_url(settings)],
            http_auth=None if user is None else (user, password),
            ssl_context=trust(settings),
            connection_class=_Connection,
            maxsize=settings.connections,
            max_retries=0,
        )

    async def send(self, call: Call, timeout_s: float) -> Reply:
        """Send once."""
        params = {**call.params, "request_timeout": timeout_s}
        try:
            found = await self._client.transport.perform_request(
                call.method, call.path, params=params, body=call.body, headers=_LINES if call.lines else _JSON
            )
        except ConnectionTimeout as error:
            raise TimeoutError from error
        except SSLError as error:
            raise ServerError(FailureKind.CONFIG, NOT_TRUSTED) from error
        except LostError as error:
            raise _lost(error.info) from error
        except TransportError as error:
            return Reply(int(error.status_code), error.info, retry_after(error.error))
        except SerializationError:
            return Reply(200, None)
        return Reply(200, found)

    async def close(self) -> None:
        """Close every socket."""
        await self._client.close()


class _Connection(AIOHttpConnection):
    """Keeps the header Retry-After of a refusal, which the library drops."""

    async def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        status, found, text = await super().perform_request(method, url, params, body, timeout, _ANY_STATUS, headers)
        if not 200 <= status < 300:
            raise TransportError(status, found.get("retry-after", ""), _parsed(text))
        return status, found, text


def _lost(cause: object) -> Exception:
    if isinstance(cause, aiohttp.ClientSSLError):
        return ServerError(FailureKind.CONFIG, NOT_TRUSTED)
    return ConnectionLostError(reached=not isinstance(cause, aiohttp.ClientConnectorError))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
