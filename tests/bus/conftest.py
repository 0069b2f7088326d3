"""One service on a real server, and a plain connection to that server. `service` (of each folder) is its factory."""

import nats
import pytest

from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings


@pytest.fixture
async def process(nats_server, service):
    async with compose(service, settings=RuntimeSettings(nats_url=nats_server.url)) as running:
        yield running


@pytest.fixture
async def client(nats_server):
    connection = await nats.connect(nats_server.url)
    yield connection
    await connection.close()
