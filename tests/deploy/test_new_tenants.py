"""A tenant comes or goes while the bus runs: one change of the users file, no restart, nobody else notices.

In accounts the server has to read the file twice (test below); the script beside each server does that.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client as NatsClient
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.js.errors import APIError

from fanfuse_all_in_one.deploying.nats_users import render_account_per_tenant, render_one_account
from fanfuse_all_in_one.deploying.users_file import UsersFile, new_key
from fanfuse_client.errors import ClientError
from fanfuse_contracts import permissions, streams, subjects
from fanfuse_contracts.access import Access
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Status
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.setup import ensure_topology
from fanfuse_testing.faults.cluster import NatsCluster
from fanfuse_testing.flow import eventually
from tests.deploy.restricted import POOLS, Installation, install


async def answered(installation: Installation, tenant: str, query_id: str) -> Answer | None:
    """The answer, read once more from where it is stored; None while the tenant is not let in or not heard."""
    try:
        async with installation.client(tenant) as client:
            answer = await client.ask("anything", query_id=query_id, budget_ms=20_000)
            assert await client.stored(query_id) == answer
            return answer
    except ClientError:
        return None


@asynccontextmanager
async def staying(installation: Installation, *users: str) -> AsyncIterator[dict[str, NatsClient]]:
    """Connections that do not come back once they are cut."""
    clients = {
        user: await nats.connect(installation.server.url, allow_reconnect=False, **installation.access(user).options())
        for user in users
    }
    try:
        yield clients
    finally:
        for client in clients.values():
            await client.close()


async def test_one_change_of_the_file_lets_a_tenant_in_and_another_cuts_it_off(tmp_path: Path) -> None:
    """Its query is stored, answered and read again; the others keep their connections, and ask on."""
    installation = install(tmp_path)
    with installation.server as server:
        await installation.set_up()
        async with installation.services(), staying(installation, "acme", permissions.OPERATOR) as kept:
            with installation.reloader():
                meanwhile = asyncio.create_task(asking(installation, "acme", over := asyncio.Event()))
                installation.write(installation.users.with_tenant("newt", new_key(tmp_path / "newt.nk")))
                answer = await eventually(lambda: answered(installation, "newt", "q1"), 60)
                assert answer.status is Status.REJECTED, "it has no corpus"
                async with staying(installation, "newt") as revoked:
                    installation.write(installation.users)
                    assert await eventually(lambda: revoked["newt"].is_closed, 60)
                with pytest.raises(NatsError, match="Authorization"):
                    await nats.connect(server.url, allow_reconnect=False, **installation.access("newt").options())
                over.set()
                assert await meanwhile > 0
            assert {user: client.is_connected for user, client in kept.items()} == dict.fromkeys(kept, True)
    assert installation.refused() == []


async def asking(installation: Installation, tenant: str, over: asyncio.Event) -> int:
    """How many queries were answered until `over`; raises for the first that was not."""
    count = 0
    async with installation.client(tenant) as client:
        while not over.is_set():
            count += (await client.ask("anything", budget_ms=5_000)).status is Status.REJECTED
    return count


async def test_the_server_outlives_being_told_while_tenants_subscribe(tmp_path: Path) -> None:
    """nats-server 2.15.1 ends in a panic here if the account imports a stream: answers come to it as a service."""
    installation = install(tmp_path)
    log = tmp_path / "nats" / "nats-server.log"
    users = installation.users
    for number in range(100):  # the more there are, the longer it takes
        users = users.with_tenant(f"tenant-{number}", new_key(tmp_path / f"{number}.nk"))
    installation.write(users)
    with installation.server as server:
        async with staying(installation, "acme") as clients:
            for told in range(1, 31):
                os.kill(server.pid, signal.SIGHUP)
                while log.read_bytes().count(b"Reloaded server configuration") < told:
                    for number in range(50):
                        heard = await clients["acme"].subscribe(subjects.query_answered("acme", f"q{number}"))
                        await heard.unsubscribe()
                    await clients["acme"].flush()
        assert server.is_alive


async def test_a_switch_to_accounts_keeps_what_is_stored_and_cuts_off_tenants_alone(tmp_path: Path) -> None:
    """They are in another account from then on, so they come again by themselves; services and streams stay."""
    installation = install(tmp_path, render_one_account)
    with installation.server:
        await installation.set_up()
        async with (
            installation.services(),
            installation.client("acme") as client,
            staying(installation, "acme", permissions.OPERATOR) as kept,
        ):
            before = await client.ask("anything", query_id="q1", budget_ms=20_000)
            with installation.reloader():
                installation.write(installation.users, render_account_per_tenant)
                assert await eventually(lambda: kept["acme"].is_closed, 60), "its account is another one now"
                assert await eventually(lambda: answered(installation, "acme", "q2"), 60)
            assert await client.stored("q1") == before
            assert (await client.ask("anything", query_id="q3", budget_ms=20_000)).status is Status.REJECTED
            assert kept[permissions.OPERATOR].is_connected
    assert installation.refused() == []


async def test_the_server_opens_a_new_account_only_when_it_reads_it_again(tmp_path: Path) -> None:
    """A fault of nats-server 2.15.1. Once this fails, the second signal in deploy/k8s/base/nats/reload.sh can go."""
    installation = install(tmp_path)
    log = tmp_path / "nats" / "nats-server.log"
    with installation.server as server:
        await installation.set_up()
        installation.write(installation.users.with_tenant("newt", new_key(tmp_path / "newt.nk")))
        os.kill(server.pid, signal.SIGHUP)
        await eventually(lambda: "Reloaded server configuration" in log.read_text(errors="replace"), 60)
        async with staying(installation, "newt") as clients:
            with pytest.raises(NoRespondersError):
                await clients["newt"].request(subjects.query_submitted("newt", "q1"), b"{}", timeout=10)
            os.kill(server.pid, signal.SIGHUP)
            assert await eventually(lambda: is_stored(clients["newt"], "newt"), 60)


async def is_stored(client: NatsClient, tenant: str) -> bool:
    try:
        reply = await client.request(subjects.query_submitted(tenant, "q1"), b"{}", timeout=5)
    except NatsError:
        return False
    return streams.QUERIES.name.encode() in reply.data


@pytest.mark.slow
async def test_servers_of_a_cluster_read_the_file_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As kubelets bring it. A tenant that comes to the first server at once is stored, and hears the others once they
    have read it: what it subscribed to before that, they would never know (nats-server issue 8560)."""
    monkeypatch.setenv("FANFUSE_STREAM_REPLICAS", "3")
    users = everyone(tmp_path)
    (tmp_path / "users.conf").write_text(render_account_per_tenant(users, POOLS))
    (tmp_path / "servers").mkdir()
    with NatsCluster(tmp_path / "servers", 3, "include ../users.conf\n") as cluster:
        await eventually(lambda: is_set_up(cluster, access_in(tmp_path)), 90)
        changed = users.with_tenant("newt", new_key(tmp_path / "newt.nk"))
        (tmp_path / "users.conf").write_text(render_account_per_tenant(changed, POOLS))
        first, *others = cluster.servers.values()
        await read_twice(first)
        early = await nats.connect(first.url, allow_reconnect=False, **access_in(tmp_path)("newt").options())
        assert await eventually(lambda: is_stored(early, "newt"), 60)
        for server in others:
            await read_twice(server)
        heard = await early.subscribe(subjects.answered_of_tenant("newt"))
        await early.flush()
        for number, server in enumerate(cluster.servers.values()):
            late = await nats.connect(server.url, **access_in(tmp_path)("newt").options())
            assert await eventually(partial(is_stored, late, "newt"), 60)
            await late.close()
            fuser = await nats.connect(server.url, **access_in(tmp_path)("FUSER").options())
            await fuser.publish(subjects.query_answered("newt", f"q{number}"), b"{}")
            assert (await heard.next_msg(timeout=30)).subject == subjects.query_answered("newt", f"q{number}")
            await fuser.close()
        installation = Installation(tmp_path, cluster, changed, render_account_per_tenant)
        await installation.set_up()
        async with installation.services():
            answer = await eventually(lambda: answered(installation, "newt", "whole"), 60)
            assert answer.status is Status.REJECTED, "it has no corpus"
        assert early.is_connected
        await early.close()


def everyone(folder: Path) -> UsersFile:
    """Keys of every service; no tenant yet."""
    users = UsersFile()
    for one in permissions.of_everyone(POOLS, ()):
        users = users.with_service(one.user, new_key(folder / f"{one.user}.nk"))
    return users


def access_in(folder: Path) -> Callable[[str], Access]:
    return lambda user: Access(user=user, nkey=folder / f"{user}.nk")


async def is_set_up(cluster: NatsCluster, access: Callable[[str], Access]) -> bool:
    client = await nats.connect(cluster.url.split(","), **access(permissions.SETUP).options())
    try:
        await ensure_topology(client.jetstream())
    except (NatsError, APIError):
        return False  # no leader yet
    finally:
        await client.close()
    return True


async def read_twice(server: NatsServer) -> None:
    for _ in range(2):
        os.kill(server.pid, signal.SIGHUP)
        await asyncio.sleep(1.0)
