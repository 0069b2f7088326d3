"""Connects to a Qdrant server (REST). In: settings. Out: a `ServerBackend` that has opened no socket yet."""

import warnings

import httpx
from qdrant_client import AsyncQdrantClient

from fanfuse_backend_workers.adapters.qdrant_server import WRITE_S, QdrantServer
from fanfuse_backend_workers.adapters.qdrant_server_scores import keep_scores_readable
from fanfuse_backend_workers.adapters.trust import trusting
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings


def connect(settings: ServerSettings) -> ServerBackend:
    """One client for every corpus on the server, with at most `settings.connections` sockets."""
    # The check of the configuration warns of it, in our words and with the key at fault.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
        client = _client(settings)
    keep_scores_readable(client)
    return QdrantServer(client, settings.namespace, settings.connections)


def _basic(settings: ServerSettings) -> httpx.BasicAuth | None:
    """Qdrant has keys only; a proxy before it may want a user."""
    if settings.username is None:
        return None
    password = "" if settings.password is None else settings.password.get_secret_value()
    return httpx.BasicAuth(settings.username, password)


def _client(settings: ServerSettings) -> AsyncQdrantClient:
    return AsyncQdrantClient(
        url=settings.url,
        api_key=None if settings.api_key is None else settings.api_key.get_secret_value(),
        timeout=int(WRITE_S),
        check_compatibility=False,  # it would call the server from a thread
        limits=httpx.Limits(max_connections=settings.connections, max_keepalive_connections=settings.connections),
        auth=_basic(settings),
        verify=trusting(settings.ca_file),
    )
