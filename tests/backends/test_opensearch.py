"""Real OpenSearch nodes of both major versions behave like every engine server."""

import pytest

from fanfuse_backend_workers.adapters.opensearch import connect
from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_contracts.enums import Kind
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.opensearch import SHARED_RELEASES, label, opensearch_url


@pytest.mark.engine
class TestOpenSearch(ServerSuite):
    kind = Kind.KEYWORD

    @pytest.fixture(params=SHARED_RELEASES, ids=label)
    def connect(self, request: pytest.FixtureRequest) -> Connect:
        settings = ServerSettings(url=opensearch_url(request.param))
        return lambda: connect(settings)
