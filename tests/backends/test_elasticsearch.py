"""The Elasticsearch client: on a stand-in that speaks the protocol, and on the server `ELASTICSEARCH_URL` names."""

import os

import pytest

from fanfuse_backend_workers.adapters.elasticsearch import connect
from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.filters import ORDER_OPS, Filter, Leaf, Op, leaves
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.keyword_servers import ELASTICSEARCH_URL
from tests.servers.noida import noida_url


@pytest.mark.slow
class TestElasticsearch(ServerSuite):
    kind = Kind.KEYWORD

    def answers_right(self, condition: Filter) -> bool:
        """The stand-in's wildcard query misses strings that hold `*` or `?` themselves, and its range query rounds
        integers to floats; real servers do neither."""
        return not any(_answered_wrong(leaf) for leaf in leaves(condition))

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


def _answered_wrong(leaf: Leaf) -> bool:
    if leaf.op in ORDER_OPS:
        return isinstance(leaf.value, int | float) and abs(leaf.value) >= 2**53
    return leaf.op is Op.CONTAINS and leaf.field == "lang"
