"""The Qdrant adapter: the conformance suite in process, over HTTP, and on the server that QDRANT_URL names."""

import os
from collections.abc import Iterator

import pytest
from pydantic import SecretStr
from qdrant_client import AsyncQdrantClient

from fanfuse_backend_workers.adapters.qdrant import connect as connect_to
from fanfuse_backend_workers.adapters.qdrant_server import QdrantServer
from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_contracts.enums import Kind
from fanfuse_testing.server_suite import Connect, ServerSuite
from tests.servers.qdrant import QdrantShim
from tests.servers.qdrant_edge import EdgeStore

pytestmark = pytest.mark.filterwarnings(
    "ignore:Payload indexes have no effect in the local Qdrant", "ignore:Local mode performs exact"
)


class Kept(AsyncQdrantClient):
    """Qdrant in process, shared by the clients of one test: closing one leaves it open."""

    async def close(self, grpc_grace: float | None = None, **kwargs: object) -> None:
        """The store goes with its last user."""


@pytest.mark.nightly
class TestQdrantInProcess(ServerSuite):
    """The client's own copy of the engine, in Python: over HTTP below it is the engine itself."""

    kind = Kind.VECTOR
    filters = 100

    @pytest.fixture
    def connect(self) -> Connect:
        shared = Kept(":memory:")
        return lambda: QdrantServer(shared, "test", connections=4)


@pytest.fixture(scope="module")
def shim() -> Iterator[QdrantShim]:
    """Qdrant's engine behind a real socket."""
    shim = QdrantShim(EdgeStore).start()
    yield shim
    shim.stop()


class TestQdrantOverHttp(ServerSuite):
    """The official client on a real socket, Qdrant's Rust engine behind it, with payload indexes."""

    kind = Kind.VECTOR

    @pytest.fixture
    def connect(self, shim: QdrantShim) -> Connect:
        return lambda: connect_to(ServerSettings(url=shim.url, namespace="test", connections=4))


@pytest.mark.engine
@pytest.mark.skipif("QDRANT_URL" not in os.environ, reason="no package ships Qdrant's server: set QDRANT_URL")
class TestQdrantServer(ServerSuite):
    """A real server, where there is one."""

    kind = Kind.VECTOR

    @pytest.fixture
    def connect(self) -> Connect:
        url, key = os.environ["QDRANT_URL"], os.environ.get("QDRANT_API_KEY")
        secret = SecretStr(key) if key else None
        return lambda: connect_to(ServerSettings(url=url, api_key=secret, namespace="fanfuse-test", connections=4))
