"""Elasticsearch 8.x and 9.x through the official asynchronous client, of version 8.19 or 9.

In: settings. Out: a `ServerBackend`. Nothing is sent before the first call. Calls ask for the REST API of version 8,
which servers of both versions speak, whichever client is installed. The client's own retries are off: there is one
place that decides about a second attempt. Its check that the server is Elasticsearch stays on.
"""

from typing import Final

import aiohttp
from elastic_transport import ConnectionError as LostError
from elastic_transport import ConnectionTimeout, SerializationError, TlsError
from elastic_transport.client_utils import DEFAULT
from elasticsearch import AsyncElasticsearch, UnsupportedProductError

from fanfuse_backend_workers.adapters.lucene_address import server_url, trust
from fanfuse_backend_workers.adapters.lucene_calls import Call, ConnectionLostError, Reply
from fanfuse_backend_workers.adapters.lucene_failures import ServerError, retry_after
from fanfuse_backend_workers.adapters.lucene_server import LuceneServer
from fanfuse_backend_workers.adapters.trust import NOT_TRUSTED
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from fanfuse_contracts.enums import FailureKind

_ANY_STATUS: Final = tuple(range(300, 600))
_ACCEPT: Final = "application/vnd.elasticsearch+json; compatible-with=8"
_JSON: Final = {"accept": _ACCEPT, "content-type": _ACCEPT}
_LINES: Final = {"accept": _ACCEPT, "content-type": "application/vnd.elasticsearch+x-ndjson; compatible-with=8"}


def connect(settings: ServerSettings) -> ServerBackend:
    """A client of one server; opens no socket. Raises `SearchError(CONFIG)` for settings it can't use."""
    return LuceneServer(ElasticsearchSender(settings), settings)


class ElasticsearchSender:
    """`Sender` over one `AsyncElasticsearch`."""

    def __init__(self, settings: ServerSettings) -> None:
        self._client = _client(settings)

    async def send(self, call: Call, timeout_s: float) -> Reply:
        """Send once."""
        client = self._client.options(request_timeout=timeout_s, ignore_status=_ANY_STATUS)
        try:
            reply = await client.perform_request(
                call.method,
                call.path,
                params=call.params,
                headers=_LINES if call.lines else _JSON,
                body=call.body,
                endpoint_id=call.name,
            )
        except ConnectionTimeout as error:
            raise TimeoutError from error
        except TlsError as error:
            raise ServerError(FailureKind.CONFIG, NOT_TRUSTED) from error
        except LostError as error:
            reached = not any(isinstance(cause, aiohttp.ClientConnectorError) for cause in error.errors)
            raise ConnectionLostError(reached) from error
        except UnsupportedProductError as error:
            raise ServerError(FailureKind.CONFIG, "the server is not Elasticsearch") from error
        except SerializationError:
            return Reply(200, None)
        return Reply(reply.meta.status, reply.body, retry_after(reply.meta.headers.get("retry-after")))

    async def close(self) -> None:
        """Close every socket."""
        await self._client.close()


def _client(settings: ServerSettings) -> AsyncElasticsearch:
    user = settings.username
    password = None if settings.password is None else settings.password.get_secret_value()
    key = None if settings.api_key is None else settings.api_key.get_secret_value()
    if key is not None and user is not None:
        raise ServerError(FailureKind.CONFIG, "Elasticsearch takes an api_key or a username, not both")
    return AsyncElasticsearch(
        hosts=[server_url(settings)],
        basic_auth=None if user is None else (user, password or ""),
        api_key=key,
        ssl_context=trust(settings) or DEFAULT,
        connections_per_node=settings.connections,
        max_retries=0,
        retry_on_timeout=False,
        sniff_on_start=False,
    )
