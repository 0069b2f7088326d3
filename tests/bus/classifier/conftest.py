"""The classifier as a running service on a real server, and a plain connection to that server."""

import nats
import pytest

from fanfuse_classifier.service import build
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings


@pytest.fixture
async def process(nats_server):
    async with compose(build, settings=RuntimeSettings(nats_url=nats_server.url)) as running:
        yield running


@pytest.fixture
async def client(nats_server):
    connection = await nats.connect(nats_server.url)
    yield connection
    await connection.close()
