"""Every keyword server a test can run over: the stand-in for Elasticsearch, real OpenSearch of both versions, and the
Elasticsearch that `ELASTICSEARCH_URL` names."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

import pytest

from fanfuse_backend_workers.adapters import elasticsearch, opensearch
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from tests.servers.noida import NoidaServer, noida_url, own_noida
from tests.servers.opensearch import SHARED_RELEASES, OpenSearchServer, label, opensearch_url, own_opensearch
from tests.servers.opensearch_release import OPENSEARCH_2, OPENSEARCH_3

ELASTICSEARCH_URL: Final = "ELASTICSEARCH_URL"

Connect = Callable[[ServerSettings], ServerBackend]


class KeywordServer(NamedTuple):
    """A client, and the address of a server that tests share."""

    version: str
    connect: Connect
    address: Callable[[], str]


class KillableServer(NamedTuple):
    """A client, and a way to start a server that one test may kill."""

    connect: Connect
    own: Callable[[], NoidaServer | OpenSearchServer]


def _real_servers() -> Iterator[KeywordServer]:
    for release in SHARED_RELEASES:
        yield KeywordServer(f"OpenSearch {label(release)}", opensearch.connect, partial(opensearch_url, release))
    if url := os.environ.get(ELASTICSEARCH_URL):
        yield KeywordServer(f"Elasticsearch at {ELASTICSEARCH_URL}", elasticsearch.connect, lambda: url)


STAND_IN: Final = KeywordServer("noida-db 0.2.3", elasticsearch.connect, noida_url)
REAL_SERVERS: Final = tuple(
    pytest.param(server, marks=pytest.mark.engine, id=server.version) for server in _real_servers()
)
KEYWORD_SERVERS: Final = (pytest.param(STAND_IN, id="stand-in"), *REAL_SERVERS)
KILLABLE_SERVERS: Final = (
    pytest.param(KillableServer(elasticsearch.connect, own_noida), id="stand-in"),
    *(
        pytest.param(
            KillableServer(opensearch.connect, partial(own_opensearch, release)),
            marks=pytest.mark.engine,
            id=release.version,
        )
        for release in (OPENSEARCH_2, OPENSEARCH_3)
    ),
)
