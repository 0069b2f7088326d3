"""Real OpenSearch nodes of both major versions behave like every engine server."""

import pytest

from fanfuse_backend_workers.adapters.opensearch import connect
from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_contracts.enums import Kind
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.opensearch import opensearch_url
from tests.servers.opensearch_release import OPENSEARCH_2, OPENSEARCH_3


@pytest.mark.engine
class TestOpenSearch2(ServerSuite):
    kind = Kind.KEYWORD

    @pytest.fixture
    def connect(self) -> Connect:
        settings = ServerSettings(url=opensearch_url(OPENSEARCH_2))
        return lambda: connect(settings)


@pytest.mark.engine
class TestOpenSearch3(ServerSuite):
    kind = Kind.KEYWORD

    @pytest.fixture
    def connect(self) -> Connect:
        settings = ServerSettings(url=opensearch_url(OPENSEARCH_3))
        return lambda: connect(settings)
