"""What holds for all tests of the flow."""

import os
from collections.abc import Iterator

import pytest

from tests.flow.server_flow import engine_servers
from tests.servers.noida import NoidaServer
from tests.servers.qdrant import QdrantShim

# The tests state every setting: what the shell says must not change what they prove.
for name in [name for name in os.environ if name.startswith("FANFUSE_") and name != "FANFUSE_SHARED"]:
    del os.environ[name]


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[QdrantShim, NoidaServer]]:
    """A vector and a keyword server of this module's own, which its tests may kill and start again."""
    with engine_servers() as started:
        yield started
