"""What deploy/OPERATING.md says of the bus, on three servers with the shipped configuration, users and TLS."""

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from fanfuse_contracts import permissions, streams
from fanfuse_contracts.access import Access
from fanfuse_runtime.setup import Rights, ensure_topology, in_time
from fanfuse_testing.flow import eventually
from tests.deploy.certificates import write_certificates
from tests.deploy.restricted import Installation, install
from tests.deploy.shipped_servers import Shipped, ShippedServers
from tests.deploy.test_servers_tls import certificate

pytestmark = pytest.mark.slow

COPIES = Rights(replicas=3)
WITHIN_S = 60.0


@pytest_asyncio.fixture
async def servers(installed: Installation, tmp_path: Path) -> AsyncIterator[ShippedServers]:
    with ShippedServers(tmp_path / "bus", installed.config / "users.conf", tmp_path / "secret") as running:
        await eventually(running.are_ready, WITHIN_S, 0.5)
        yield running


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    """Keys, users.conf, and the Secret `nats-tls` as a folder, which servers and clients read."""
    secret = tmp_path / "secret"
    secret.mkdir()
    write_certificates(secret)
    return replace(install(tmp_path), ca_file=secret / "ca.crt")


async def connect(servers: ShippedServers, access: Access, **more: object) -> Client:
    return await nats.connect(servers.url.split(","), **(access.options() | more))


async def set_up(servers: ShippedServers, installed: Installation) -> None:
    client = await connect(servers, installed.access(permissions.SETUP))
    await in_time(lambda: ensure_topology(client.jetstream(), COPIES))
    await client.close()


def put(new: Path, secret: Path, *names: str) -> None:
    """Into the Secret, as the kubelet brings it."""
    for name in names:
        shutil.copy(new / name, secret / name)


async def shown_anew(servers: ShippedServers, before: list[bytes]) -> None:
    """Every server shows another certificate than before."""
    await eventually(lambda: not set(shown(servers)) & set(before), WITHIN_S, 0.5)


def shown(servers: ShippedServers) -> list[bytes]:
    return [certificate(one.client) for one in servers.each]


async def test_another_authority_takes_the_place_of_the_old_one(
    servers: ShippedServers, installed: Installation, tmp_path: Path
) -> None:
    """Both in ca.crt, the new certificate, the new authority alone. No connection ends, servers find each other."""
    secret, new, only_old = tmp_path / "secret", tmp_path / "new", tmp_path / "only-old.crt"
    new.mkdir()
    write_certificates(new)
    shutil.copy(secret / "ca.crt", only_old)
    ended: list[str] = []

    async def ends() -> None:
        ended.append("")

    operator = installed.access(permissions.OPERATOR)
    (secret / "ca.crt").write_bytes(only_old.read_bytes() + (new / "ca.crt").read_bytes())
    await eventually(lambda: all(reloads(one) for one in servers.each), WITHIN_S, 0.5)
    await settled(servers)
    client = await connect(servers, operator, disconnected_cb=ends)  # a service that was started anew
    before = shown(servers)
    put(new, secret, "tls.crt", "tls.key")
    await shown_anew(servers, before)
    await settled(servers)
    await client.flush(timeout=30)
    assert ended == []
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        await connect(servers, replace(operator, ca_file=only_old), allow_reconnect=False)
    await restarted(servers, servers.each[1])
    put(new, secret, "ca.crt")
    await restarted(servers, servers.each[2])
    await (await connect(servers, operator)).close()
    await client.close()


async def settled(servers: ShippedServers) -> None:
    """Nobody is told anything any more: who connects just while a server reads its configuration is sent away once."""
    async with asyncio.timeout(WITHIN_S):
        before = -1
        while (told := sum(map(reloads, servers.each))) != before:
            before = told
            await asyncio.sleep(2.0)


def reloads(server: Shipped) -> int:
    return server.log.count("Reloaded server configuration")


async def restarted(servers: ShippedServers, one: Shipped) -> None:
    """It is ready only in a cluster: others let it in by its certificate."""
    one.kill()
    one.start()
    await eventually(servers.are_ready, WITHIN_S, 0.5)
    assert json.loads(one.tells("routez"))["num_routes"] > 0


async def test_more_disk_is_read_without_a_restart(servers: ShippedServers) -> None:
    for one in servers.each:
        one.conf.write_text(one.conf.read_text().replace("max_file_store: 10GB", "max_file_store: 20GB"))
    told = "Reloaded: JetStream max_file_store = 20.00 GB"
    await eventually(lambda: all(told in one.log for one in servers.each), WITHIN_S, 0.5)
    assert {json.loads(one.tells("jsz"))["config"]["max_storage"] for one in servers.each} == {20 * 2**30}


async def test_an_empty_volume_is_filled_by_the_others_and_three_by_the_setup_step(
    servers: ShippedServers, installed: Installation
) -> None:
    await set_up(servers, installed)
    client = await connect(servers, installed.access(permissions.OPERATOR))
    corpora = await client.jetstream().key_value(streams.CORPORA.name)
    await corpora.put("acme.docs", b"{}")
    first = servers.each[0]
    first.lose_volume()
    first.start()
    await eventually(servers.are_ready, WITHIN_S, 0.5)
    await eventually(lambda: holds(first) == (len(streams.STREAMS) + len(streams.BUCKETS), 1), WITHIN_S, 0.5)
    for one in servers.each:
        one.lose_volume()
    for one in servers.each:
        one.start()
    await eventually(servers.are_ready, WITHIN_S, 0.5)
    await eventually(lambda: client.is_connected, WITHIN_S, 0.5)
    assert await eventually(lambda: told_of(client, "QUERIES"), WITHIN_S, 0.5) == "stream not found"
    await set_up(servers, installed)
    assert (await client.jetstream().stream_info("QUERIES")).config.num_replicas == 3
    await client.close()


async def told_of(client: Client, stream: str) -> str | None:
    """Why there is no such stream; nothing while the servers have nobody who knows."""
    with suppress(NatsError):
        try:
            await client.jetstream().stream_info(stream)
        except NotFoundError as error:
            return error.description
    return None


def holds(server: Shipped) -> tuple[int, int]:
    """Streams and messages on its own volume and in its memory."""
    told = json.loads(server.tells("jsz") or "{}")
    return told.get("streams", 0), told.get("messages", 0)
