"""The Elasticsearch client: on a stand-in that speaks the protocol, and on the server `ELASTICSEARCH_URL` names."""

import os

import pytest

from fanfuse_backend_workers.adapters.elasticsearch import connect
from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.filters import Filter
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.keyword_servers import ELASTICSEARCH_URL
from tests.servers.noida import answers_right, noida_url


@pytest.mark.slow
class TestElasticsearch(ServerSuite):
    kind = Kind.KEYWORD

    def answers_right(self, condition: Filter) -> bool:
        """Real servers answer every filter right."""
        return answers_right(condition)

    @pytest.fixture
    def connect(self) -> Connect:
        settings = ServerSettings(url=noida_url())
        return lambda: connect(settings)


@pytest.mark.engine
@pytest.mark.skipif(ELASTICSEARCH_URL not in os.environ, reason=f"no package ships its server: set {ELASTICSEARCH_URL}")
class TestElasticsearchServer(ServerSuite):
    """A real server, where there is one."""

    kind = Kind.KEYWORD

    @pytest.fixture
    def connect(self) -> Connect:
        settings = ServerSettings(url=os.environ[ELASTICSEARCH_URL], namespace="fanfuse-test")
        return lambda: connect(settings)
