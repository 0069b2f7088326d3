"""Who a process is on the bus: TLS, passwords and nkeys, for services, the client and the operator's commands alike."""

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from fanfuse_all_in_one.connecting import OperatorConnection
from fanfuse_client import Client
from fanfuse_client.errors import NotConnected
from fanfuse_contracts.access import Access
from fanfuse_runtime.connection import Connection
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings, SettingsError
from fanfuse_testing.flow import eventually
from tests.deploy.certificates import write_certificates


async def _nothing() -> None:
    return None


@pytest.fixture
def guarded(tmp_path: Path) -> NatsServer:
    """A server with TLS and one user with a password."""
    write_certificates(tmp_path)
    files = f'cert_file: "{tmp_path}/tls.crt", key_file: "{tmp_path}/tls.key"'
    user = '{user: "FUSER", password: "pw", permissions: {subscribe: ["_INBOX_FUSER.>", "allowed"], publish: ">"}}'
    config = tmp_path / "nats.conf"
    config.write_text(f"tls {{{files}}}\naccounts: {{A: {{jetstream: enabled, users: [{user}]}}}}\n")
    return NatsServer(tmp_path / "nats", config=config)


async def test_a_process_trusts_the_stated_authority_and_hears_answers_on_its_own_inboxes(
    guarded: NatsServer, tmp_path: Path
) -> None:
    with guarded as server:
        settings = RuntimeSettings(
            nats_url=server.url,
            nats_user="FUSER",
            nats_password=SecretStr("pw"),
            nats_ca_file=tmp_path / "ca.crt",
        )
        connection = Connection(settings, Metrics(), _nothing)
        client = await connection.open()
        assert (await client.request("$JS.API.INFO", b"", timeout=5)).data
        assert client.new_inbox().startswith("_INBOX_FUSER.")
        await connection.close()


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_client_does_the_same(guarded: NatsServer, tmp_path: Path, *, trusted: bool) -> None:
    access = Access(user="FUSER", password="pw", ca_file=tmp_path / "ca.crt" if trusted else None)
    with guarded as server:
        client = Client(server.url, "acme", access=access)
        if trusted:
            async with client:
                assert client.tenant == "acme"
        else:
            with pytest.raises(NotConnected, match="certificate"):
                await client.__aenter__()


def over_tls(server: NatsServer, folder: Path) -> Connection:
    settings = RuntimeSettings(
        nats_url=server.url, nats_user="FUSER", nats_password=SecretStr("pw"), nats_ca_file=folder / "ca.crt"
    )
    return Connection(settings, Metrics(), _nothing)


async def test_a_clean_end_over_tls_is_told_by_nobody(
    guarded: NatsServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio warned of each, and the end of a process looked like a lost connection."""
    access = Access(user="FUSER", password="pw", ca_file=tmp_path / "ca.crt")
    with guarded as server, capture_logs() as logs:
        connection = over_tls(server, tmp_path)
        await connection.open()
        await connection.close()
        async with Client(server.url, "acme", access=access):
            pass
        operator = OperatorConnection(server.url, access)
        await operator.open()
        await operator.client.close()
        await asyncio.sleep(0.1)
    assert (logs, caplog.messages) == ([], [])


async def test_a_loss_over_tls_is_told_and_the_new_connection_ends_as_quietly(
    guarded: NatsServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with guarded as server, capture_logs() as logs:
        connection = over_tls(server, tmp_path)
        client = await connection.open()
        server.stop()
        server.start()
        await eventually(lambda: client.is_connected and client.stats["reconnects"] == 1)
        assert "bus.disconnected" in [line["event"] for line in logs]
        await connection.close()
        await asyncio.sleep(0.1)
    assert [line["event"] for line in logs].count("bus.disconnected") == 1
    assert not [message for message in caplog.messages if "eof_received" in message]


SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
CREDENTIALS = f"""-----BEGIN NATS USER JWT-----
eyJ0.a-b_c
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{SEED}
------END USER NKEY SEED------
"""


def test_a_file_that_holds_no_credentials_is_refused_before_anything_is_tried(tmp_path: Path) -> None:
    """nats-py ends with a TypeError, for some at the login only."""
    file = tmp_path / "ann.creds"
    file.write_text(CREDENTIALS)
    assert Access(creds=file).told == f"the credentials of {file}"
    for content in ("", "garbage\n", SEED, CREDENTIALS[:80], CREDENTIALS.replace(SEED, SEED[:20]), "\x00\xff" * 99):
        file.write_bytes(content.encode("latin-1"))
        with pytest.raises(ValueError, match=r"ann\.creds does not hold the credentials of a user"):
            Access(creds=file)
    file.write_bytes(CREDENTIALS.replace("\n", "\r\n").encode())
    with pytest.raises(ValueError, match="lines that end as on Unix"):
        Access(creds=file)


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(SettingsError, match="exclude each other"):
        RuntimeSettings(nats_nkey=Path("a"), nats_creds=Path("b"))
    with pytest.raises(ValueError, match="name of its user"):
        Access(password="pw")
    with pytest.raises(ValueError, match="belong together"):
        Access(cert_file=Path("a"))
    with pytest.raises(ValueError, match=r"/absent\.crt can't be read: No such file"):
        Access(ca_file=Path("/absent.crt"))
    with pytest.raises(ValueError, match="certificates or the key can't be used"):
        Access(ca_file=Path(__file__))
    assert "pw" not in repr(Access(user="FUSER", password="pw"))
