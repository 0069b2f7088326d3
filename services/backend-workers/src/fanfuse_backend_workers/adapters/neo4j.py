"""Connects to a Neo4j server (Bolt). In: settings. Out: a `ServerBackend` that has opened no socket yet."""

from typing import Any, Final
from urllib.parse import urlsplit

import neo4j
from neo4j import exceptions

from fanfuse_backend_workers.adapters.neo4j_calls import Neo4jCalls
from fanfuse_backend_workers.adapters.neo4j_server import Neo4jServer
from fanfuse_backend_workers.adapters.neo4j_statements import Statements
from fanfuse_backend_workers.adapters.trust import trusting
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from fanfuse_contracts.enums import FailureKind

_CONNECT_S: Final = 5.0
_SCHEMES: Final = frozenset({"bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"})
_BAD_URL: Final = "the url must begin with bolt:// or neo4j://, with +s or +ssc for TLS; ca_file goes without them"
_IDLE_S: Final = 30.0
"""A connection unused for longer is tried before it is used."""


def connect(settings: ServerSettings) -> ServerBackend:
    """One driver for every corpus on the server, with at most `settings.connections` sockets."""
    statements = Statements(settings.namespace)
    if urlsplit(settings.url).scheme not in _SCHEMES:
        raise SearchError(FailureKind.CONFIG, _BAD_URL)
    try:
        driver = neo4j.AsyncGraphDatabase.driver(
            settings.url,
            auth=_auth(settings),
            max_connection_pool_size=settings.connections,
            connection_timeout=_CONNECT_S,
            liveness_check_timeout=_IDLE_S,
            max_transaction_retry_time=10.0,
            telemetry_disabled=True,
            notifications_min_severity="OFF",
            **_encryption(settings),
        )
    except (exceptions.ConfigurationError, ValueError) as error:
        raise SearchError(FailureKind.CONFIG, _BAD_URL) from error
    return Neo4jServer(Neo4jCalls(driver, settings.database, settings.connections), statements)


def _auth(settings: ServerSettings) -> tuple[str, str] | None:
    if settings.password is None:
        return None
    return settings.username or "neo4j", settings.password.get_secret_value()


def _encryption(settings: ServerSettings) -> dict[str, Any]:
    """An authority of one's own is trusted with a bare scheme; a scheme with +s says how itself."""
    if settings.ca_file is None or "+" in urlsplit(settings.url).scheme:
        return {}
    return {"ssl_context": trusting(settings.ca_file), "encrypted": True}
