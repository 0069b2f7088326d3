"""Who may not do what it was started for hears at once, in one line, who it is and who may."""

import asyncio
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from signal import SIGHUP

import pytest
from typer.testing import CliRunner

from fanfuse_all_in_one.deploying.nats_users import render_account_per_tenant, render_one_account
from fanfuse_all_in_one.deploying.users_file import new_key
from fanfuse_all_in_one.services import FACTORIES
from fanfuse_cli.main import app
from fanfuse_client import Client, ClientError, NotAllowed, NotConnected, Overloaded
from fanfuse_contracts import permissions
from fanfuse_contracts.access import Access, AccessError
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.compose import compose
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import NotAllowedError
from fanfuse_testing.flow import eventually
from tests.deploy.restricted import Installation, install

RENDERED = {"one account": render_one_account, "account per tenant": render_account_per_tenant}


@pytest.fixture(params=RENDERED)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    installed = install(tmp_path, RENDERED[request.param])
    with installed.server:
        asyncio.run(installed.set_up())
        yield installed


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a reply that never comes fails here by its timeout, with other words."""
    monkeypatch.setattr("fanfuse_client.connection._RETRY_DELAYS_S", (0.01,))


def run_as(installation: Installation, user: str, key: str, *arguments: str) -> str:
    """The one line of a command that was refused."""
    stated = {
        "NATS_URL": installation.server.url,
        "FANFUSE_CREATES": "nothing",
        "FANFUSE_NATS_USER": user,
        "FANFUSE_NATS_NKEY": str(installation.folder / f"{key}.nk") if key else "",
    }
    done = CliRunner().invoke(app, [*arguments, "--nats-url", installation.server.url], env=stated)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    (line,) = done.stderr.splitlines()
    return line


COMMANDS = (
    ("status",),
    ("explain", "q1", "--tenant", "acme"),
    ("deadletter", "list"),
    ("health", "list"),
    ("corpus", "list"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_operators_command_of_a_tenant_says_who_may(installation: Installation, command: tuple[str, ...]) -> None:
    line = run_as(installation, "acme", "acme", *command)
    assert re.search(r'this command is user acme .* which may not publish to "\$js\.api', line)
    assert "user OPERATOR may; set FANFUSE_NATS_USER=OPERATOR and FANFUSE_NATS_NKEY" in line
    assert "2.11" not in line, "the server is not at fault"


def test_a_service_may_not_look_at_everything(installation: Installation) -> None:
    """It may connect and compare: it is refused later, and hears it as soon."""
    assert "user OPERATOR may" in run_as(installation, "CLASSIFIER", "CLASSIFIER", "health", "list")


def test_the_setup_step_is_a_user_of_its_own(installation: Installation) -> None:
    assert "user SETUP may" in run_as(installation, "OPERATOR", "OPERATOR", "deploy", "setup", "--within", "60")


def test_a_key_of_somebody_else(installation: Installation) -> None:
    assert "its key is that of another user" in run_as(installation, "OPERATOR", "acme", "status")
    asked = ("ask", "hi", "--tenant", "globex")
    assert "the key is not of tenant globex: user acme" in run_as(installation, "acme", "acme", *asked)
    # Neither its inbox nor the subject is let through, and either may be refused first.
    assert re.search("the key is not (of tenant|that of user) globex", run_as(installation, "globex", "acme", *asked))


def test_no_key_at_all(tmp_path: Path) -> None:
    installed = install(tmp_path)
    with installed.server:
        refused = run_as(installed, "OPERATOR", "", "status")
        assert "does not let this command in, as user OPERATOR: set FANFUSE_NATS_USER=OPERATOR" in refused
        refused = run_as(installed, "", "", "ask", "hi", "--tenant", "globex")
        assert "does not let the client in, as user globex: connect as a user of the tenant" in refused
        refused = run_as(installed, "", "", "deploy", "setup", "--within", "4")
        assert "does not let this command in, as nobody (no user is stated): set FANFUSE_NATS_USER=SETUP" in refused


def test_a_service_whose_key_the_bus_does_not_know(tmp_path: Path) -> None:
    installed = install(tmp_path)
    (installed.folder / "FUSER.nk").unlink()
    new_key(installed.folder / "FUSER.nk")

    async def start() -> None:
        with pytest.raises(NotAllowedError, match=r"does not let this process in, as user FUSER .*FANFUSE_NATS_USER"):
            async with compose(FACTORIES[Stage.FUSER], settings=installed.settings("FUSER")):
                pass

    with installed.server:
        asyncio.run(start())


def test_a_tenant_that_has_all_its_connections_is_told_so(tmp_path: Path) -> None:
    installed = install(tmp_path, lambda users, pools: render_account_per_tenant(users, pools, connections=1))

    async def run() -> None:
        async with installed.client("acme"):
            with pytest.raises(NotConnected, match=r"maximum account active connections .*--tenant-connections"):
                await installed.client("acme").__aenter__()

    with installed.server:
        asyncio.run(run())


async def is_refused(client: Client) -> bool:
    try:
        await client.submit("hi")
    except NotAllowed:
        return True
    except ClientError:
        pass  # it takes a moment until the server has said so
    return False


def test_a_key_that_is_revoked_while_it_is_used(tmp_path: Path) -> None:
    installed = install(tmp_path)

    async def run() -> None:
        async with installed.client("acme") as client:
            await client.submit("hi")
            installed.write(installed.users.model_copy(update={"tenants": {}}))
            os.kill(installed.server.pid, SIGHUP)
            await eventually(partial(is_refused, client))
            with pytest.raises(NotAllowed, match="does not let the client in, as user acme"):
                await client.submit("hi")

    with installed.server:
        asyncio.run(installed.set_up())
        asyncio.run(run())


@pytest.mark.parametrize("field", ["nkey", "creds"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"tenants:\n  acme: [U1]\n", b"SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6"])
def test_a_file_that_holds_no_key(tmp_path: Path, field: str, content: bytes) -> None:
    path = tmp_path / "some"
    path.write_bytes(content)
    with pytest.raises(AccessError, match=f"{path} does not hold the ") as refused:
        Access(nkey=path) if field == "nkey" else Access(creds=path)
    assert refused.value.fields == (field,)


async def refused_to(client: Client, installation: Installation) -> None:
    of_globex = pytest.raises(NotAllowed, match="not of tenant globex")
    for call in (
        partial(client.ask, "hi"),
        partial(client.ask, "hi", query_id="q1"),
        partial(client.submit, "hi"),
        partial(client.decide, "hi"),
        partial(client.stored, "q1"),
        partial(client.cancel, "q1"),
    ):
        with of_globex as refused:
            await call()
        assert not refused.value.retryable


def test_every_call_of_the_client_ends_with_the_same_error(installation: Installation) -> None:
    async def run() -> None:
        access = Access(user="acme", nkey=installation.folder / "acme.nk")
        async with Client(installation.server.url, "globex", access=access) as client:
            await refused_to(client, installation)
        own = Client(installation.server.url, "acme", access=access)
        async with own:
            assert await own.stored("q1") is None, "its own tenant's it may read"

    asyncio.run(run())


@pytest.mark.parametrize("stage", Stage)
def test_no_service_starts_as_another_user(tmp_path: Path, stage: Stage) -> None:
    """Not even where the other user is a service: it says so and ends, instead of being ready and never fed."""
    installed = install(tmp_path)
    others = {permissions.user_of_stage(one) for one in (Stage.CLASSIFIER, Stage.FUSER) if one is not stage}

    async def start(user: str) -> None:
        settings: RuntimeSettings = installed.settings(user)
        with pytest.raises(
            NotAllowedError, match=rf"this is user {user} .* may not .* CLASSIFIER, .*FANFUSE_NATS_USER"
        ):
            async with compose(FACTORIES[stage], settings=settings):
                pass

    with installed.server:
        asyncio.run(installed.set_up())
        for user in sorted(others | {"acme"}):
            asyncio.run(start(user))


def test_an_account_without_streams_is_named_as_what_it_is(tmp_path: Path) -> None:
    """Nothing is refused there, and nobody answers either."""
    config = tmp_path / "nats.conf"
    config.write_text("accounts {A {jetstream: enabled}, B {users: [{user: acme, password: pw}]}}\n")

    async def ask(url: str) -> None:
        async with Client(url, "acme", access=Access(user="acme", password="pw")) as client:
            with pytest.raises(Overloaded, match="account there is not the tenant's"):
                await client.submit("hi")

    with NatsServer(tmp_path / "nats", config=config) as server:
        asyncio.run(ask(server.url))
        stated = {"FANFUSE_NATS_USER": "acme", "FANFUSE_NATS_PASSWORD": "pw"}
        done = CliRunner().invoke(app, ["status", "--nats-url", server.url], env=stated)
    assert "The user's account on the bus has no streams" in done.stderr
