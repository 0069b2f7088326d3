"""What KEDA would read on the monitoring port, by the names that stand in the manifests, against the work outstanding.

DEP-01: work in flight and work that waits to be retried count, with workers and without any.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT
from fanfuse_all_in_one.deploying.setting_up import set_up
from fanfuse_contracts import subjects
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port
from tests.deploy.rendered import K8S
from tests.deploy.restricted import install
from tests.deploy.scaler import POOL, Monitor, scaler


def open_to_all(_folder: Path) -> str:
    """As before there are users."""
    return (K8S / "base/nats/users.conf").read_text()


def with_tenants(folder: Path) -> str:
    """What `fanfuse deploy nats` prints, each tenant in an account, and a user without a key beside the services."""
    printed = (install(folder).config / "users.conf").read_text()
    accounts = json.loads(printed.partition("accounts:")[2])
    accounts[ACCOUNT]["users"].append({"user": "anybody", "password": "anybody"})
    return f"accounts: {json.dumps(accounts)}\nno_auth_user: anybody\n"


@pytest.fixture(params=[open_to_all, with_tenants])
async def bus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Client, Monitor]]:
    """A server with its monitoring and the account that manifests name, set up for the pool."""
    port = free_port()
    config = tmp_path / "nats.conf"
    config.write_text(f'http: "127.0.0.1:{port}"\n{request.param(tmp_path)}')
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


async def test_a_stream_without_its_consumer_gets_it_before_anything_scales_on_it(bus: tuple[Client, Monitor]) -> None:
    """DEP-02: a fresh cluster, or somebody deleted it: the step before the services makes it, over what waits."""
    client, monitor = bus
    stated = scaler()
    await client.jetstream().delete_consumer(stated["stream"], stated["consumer"])
    await commands(client, 3)
    assert await monitor.lag() is None, "KEDA before 2.20 takes this for a full stream"
    await set_up(client.connected_url.geturl() if client.connected_url else "", [POOL])
    assert await eventually(lambda: is_lag(monitor, 3))
    made = await client.jetstream().consumer_info(stated["stream"], stated["consumer"])
    assert not made.config.inactive_threshold, "it stays at zero workers"


async def test_the_setup_step_creates_whatever_services_may_create(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFUSE_CREATES", "nothing")
    assert f"{scaler()['stream']}/{scaler()['consumer']}" in await set_up(nats_server.url, [POOL])
