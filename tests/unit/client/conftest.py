"""A client on a real nats-server, with a stand-in for the services."""

from collections.abc import AsyncIterator

import pytest

from fanfuse_client import Client
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings
from tests.unit.client.stand_in import SEEN, build_stand_in


@pytest.fixture
async def process(nats_server: NatsServer) -> AsyncIterator[Process]:
    SEEN.clear()
    async with compose(build_stand_in, settings=RuntimeSettings(nats_url=nats_server.url)) as running:
        yield running


@pytest.fixture
async def client(process: Process, nats_server: NatsServer) -> AsyncIterator[Client]:
    async with Client(nats_server.url, "acme") as connected:
        yield connected
