"""Every keyword server a test can run over: the stand-in for Elasticsearch, and real OpenSearch of both versions."""

from collections.abc import Callable
from typing import Final, NamedTuple

import pytest

from fanfuse_backend_workers.adapters import elasticsearch, opensearch
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from tests.servers.noida import NoidaServer, elasticsearch_url, own_noida
from tests.servers.opensearch import OpenSearchServer, opensearch_url, own_opensearch
from tests.servers.opensearch_release import OPENSEARCH_2, OPENSEARCH_3


class KeywordServer(NamedTuple):
    """A client, the address of a shared server, and a way to start one that may be killed."""

    version: str
    connect: Callable[[ServerSettings], ServerBackend]
    address: Callable[[], str]
    own: Callable[[], NoidaServer | OpenSearchServer]


STAND_IN: Final = KeywordServer("noida-db 0.2.3", elasticsearch.connect, elasticsearch_url, own_noida)
REAL_2: Final = KeywordServer(
    OPENSEARCH_2.version, opensearch.connect, lambda: opensearch_url(OPENSEARCH_2), lambda: own_opensearch(OPENSEARCH_2)
)
REAL_3: Final = KeywordServer(
    OPENSEARCH_3.version, opensearch.connect, lambda: opensearch_url(OPENSEARCH_3), lambda: own_opensearch(OPENSEARCH_3)
)
REAL_SERVERS: Final = (
    pytest.param(REAL_2, marks=pytest.mark.engine, id="opensearch2"),
    pytest.param(REAL_3, marks=pytest.mark.engine, id="opensearch3"),
)
KEYWORD_SERVERS: Final = (pytest.param(STAND_IN, id="stand-in"), *REAL_SERVERS)
