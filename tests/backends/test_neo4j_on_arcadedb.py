"""The Neo4j adapter against ArcadeDB over Bolt, where that is installed: no index of words, no time limit."""

import pytest

from fanfuse_backend_workers.adapters.neo4j import connect
from fanfuse_contracts.enums import Kind
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.arcadedb import arcadedb_settings


@pytest.mark.engine
class TestNeo4jOnArcadeDB(ServerSuite):
    kind = Kind.GRAPH

    @pytest.fixture
    def connect(self) -> Connect:
        settings = arcadedb_settings()
        return lambda: connect(settings)
