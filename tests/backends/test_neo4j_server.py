"""Real Neo4j community servers, the last of version 5 and a calendar version, behave like every engine server."""

import pytest

from fanfuse_backend_workers.adapters.neo4j import connect
from fanfuse_contracts.enums import Kind
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.neo4j import SHARED_RELEASES, label, neo4j_settings


@pytest.mark.engine
class TestNeo4j(ServerSuite):
    kind = Kind.GRAPH
    filters = 60  # the server plans each of them anew

    @pytest.fixture(params=SHARED_RELEASES, ids=label)
    def connect(self, request: pytest.FixtureRequest) -> Connect:
        settings = neo4j_settings(request.param)
        return lambda: connect(settings)
