"""A real Neo4j community server behaves like every engine server."""

import pytest

from fanfuse_backend_workers.adapters.neo4j import connect
from fanfuse_contracts.enums import Kind
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.neo4j import NEO4J_5, neo4j_settings


@pytest.mark.engine
class TestNeo4j5(ServerSuite):
    kind = Kind.GRAPH
    filters = 60  # the server plans each of them anew

    @pytest.fixture
    def connect(self) -> Connect:
        settings = neo4j_settings(NEO4J_5)
        return lambda: connect(settings)
