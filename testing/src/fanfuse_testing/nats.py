"""A real nats-server as a pytest fixture: one per session on a free port, wiped between tests.

Use it with `pytest_plugins = ["fanfuse_testing.nats"]`. `nats_server` is shared and cleaned after each test;
`own_nats_server` is one for a test that stops or breaks it.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import nats
import pytest

from fanfuse_runtime.server import NatsServer


@pytest.fixture(scope="session")
def _session_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture
async def nats_server(_session_server: NatsServer) -> AsyncIterator[NatsServer]:
    """A running server with no stream in it."""
    yield _session_server
    client = await nats.connect(_session_server.url)
    js = client.jetstream()
    for stream in await js.streams_info():
        await js.delete_stream(stream.config.name or "")
    await client.close()


@pytest.fixture
def own_nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server that this test alone may stop, kill and start again."""
    with NatsServer(tmp_path / "nats") as server:
        yield server
