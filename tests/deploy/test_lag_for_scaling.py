"""What KEDA would read on the monitoring port, by the names that stand in the manifests, against the work outstanding.

DEP-01: work in flight and work that waits to be retried count, with workers and without any.
"""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import pytest
import yaml
from nats.aio.client import Client

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT
from fanfuse_all_in_one.deploying.setting_up import set_up
from fanfuse_all_in_one.deploying.workers import Scaling, render_workers
from fanfuse_contracts import subjects
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually
from fanfuse_testing.processes import free_port

POOL = (Kind.VECTOR, "main")
SERVERS = {
    "vector": {"main": {"engine": "qdrant", "url": "http://qdrant:6333"}},
    "keyword": {"main": {"engine": "elasticsearch", "url": "http://search:9200"}},
    "graph": {"main": {"engine": "neo4j", "url": "neo4j://graph:7687"}},
}


def scaler() -> dict[str, str]:
    """The trigger of the pool, as the manifests state it."""
    config = FanfuseConfig.model_validate({"backends": SERVERS})
    documents = yaml.safe_load_all(render_workers(config, Scaling(), "fanfuse/backend-workers:0.1.0"))
    wanted = "worker-vector-main"
    scaled = next(each for each in documents if each["kind"] == "ScaledObject" and each["metadata"]["name"] == wanted)
    stated: dict[str, str] = scaled["spec"]["triggers"][0]["metadata"]
    return stated


class Monitor:
    """The monitoring port of one server, read as KEDA's nats-jetstream scaler reads it."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/jsz?acc={ACCOUNT}&consumers=true&config=true"

    async def lag(self) -> int | None:
        """num_pending + num_ack_pending of the consumer that the trigger names; None where there is none."""
        return _lag(await asyncio.to_thread(self._read), scaler())

    def _read(self) -> Any:
        with urllib.request.urlopen(self._url, timeout=5) as response:
            return json.load(response)


def _lag(document: Any, stated: dict[str, str]) -> int | None:
    for account in document["account_details"]:
        for stream in account.get("stream_detail", ()):
            for consumer in stream.get("consumer_detail", ()):
                if (account["name"], stream["name"], consumer["name"]) == (
                    stated["account"],
                    stated["stream"],
                    stated["consumer"],
                ):
                    return int(consumer["num_pending"] + consumer["num_ack_pending"])
    return None


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[tuple[Client, Monitor]]:
    """A server with its monitoring and the account that manifests name, set up for the pool."""
    users = (Path(__file__).parents[2] / "deploy/k8s/base/nats/users.conf").read_text()
    port = free_port()
    config = tmp_path / "nats.conf"
    config.write_text(f'http: "127.0.0.1:{port}"\n{users}')
    with NatsServer(tmp_path / "nats", config=config) as server:
        await set_up(server.url, [POOL])
        client = await nats.connect(server.url)
        yield client, Monitor(port)
        await client.close()


async def commands(client: Client, count: int) -> None:
    for number in range(count):
        await client.jetstream().publish(subjects.retrieve(*POOL, "acme", "docs"), b"%d" % number)


async def test_the_lag_is_the_work_outstanding_with_and_without_workers(bus: tuple[Client, Monitor]) -> None:
    client, monitor = bus
    assert await monitor.lag() == 0, "the consumer exists before any worker does"
    await commands(client, 7)
    assert await eventually(lambda: is_lag(monitor, 7)), "no worker: all of it waits"
    stated = scaler()
    pulling = await client.jetstream().pull_subscribe_bind(stated["consumer"], stream=stated["stream"])
    held = await pulling.fetch(7, timeout=5)
    assert await eventually(lambda: is_lag(monitor, 7)), "all in hand, none waits: not idle"
    await held[0].ack()
    await held[1].ack()
    await held[2].nak(delay=60)
    await commands(client, 2)
    assert await eventually(lambda: is_lag(monitor, 7)), "four in hand, one to be retried, two wait"
    for message in held[3:]:
        await message.ack()
    assert await eventually(lambda: is_lag(monitor, 3))


async def is_lag(monitor: Monitor, wanted: int) -> bool:
    return await monitor.lag() == wanted


async def test_a_second_setup_changes_nothing_and_tells_the_same(bus: tuple[Client, Monitor]) -> None:
    client, monitor = bus
    await commands(client, 1)
    names = await set_up(client.connected_url.geturl() if client.connected_url else "", [POOL])
    assert f"{scaler()['stream']}/{scaler()['consumer']}" in names
    assert await eventually(lambda: is_lag(monitor, 1))
