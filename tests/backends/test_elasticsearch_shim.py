"""The Elasticsearch client against real OpenSearch, through a test-only proxy that names the product Elasticsearch.

This is not a test of Elasticsearch: none can be had here. It shows that the adapter's requests hold on a real engine at
any size, where the stand-in is slow and in some filters wrong.
"""

import pytest

from fanfuse_backend_workers.adapters.elasticsearch import connect
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.opensearch import SHARED_RELEASES, label, opensearch_url
from tests.servers.opensearch_shim import shim_url


@pytest.mark.engine
class TestElasticsearchOnOpenSearch(ServerSuite):
    kind = Kind.KEYWORD

    @pytest.fixture(params=SHARED_RELEASES, ids=label)
    def connect(self, request: pytest.FixtureRequest) -> Connect:
        settings = ServerSettings(url=shim_url(request.param))
        return lambda: connect(settings)


@pytest.mark.engine
async def test_without_the_proxy_the_client_refuses_opensearch() -> None:
    """The shipped adapter keeps the client's check of the product, and its content types."""
    backend = connect(ServerSettings(url=opensearch_url(SHARED_RELEASES[0])))
    with pytest.raises(SearchError) as refused:
        await backend.health()
    assert refused.value.kind is FailureKind.CONFIG
    await backend.close()
