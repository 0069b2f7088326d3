"""Who asks for TLS has it or an error: never is a password or a query sent in plain text, at no (re)connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

import fanfuse_client.connection
from fanfuse_all_in_one.connecting import OperatorConnection
from fanfuse_all_in_one.databus import BusUnavailableError
from fanfuse_client import Client
from fanfuse_client.errors import NotAllowed, NotConnected
from fanfuse_contracts.access import Access
from fanfuse_contracts.tls import NoTlsError, secure
from fanfuse_runtime.connection import Connection
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.setup import PlainBusError
from fanfuse_testing.flow import eventually
from tests.deploy.certificates import write_certificates

USER = '{user: "ANN", password: "pass-of-ann"}'
TOLD = "the server offers no TLS, which was asked for: nothing was sent to it"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client tries for so long."""
    monkeypatch.setattr(fanfuse_client.connection, "CONNECT_TIMEOUT_S", 1.0)


async def _nothing() -> None:
    return None


@dataclass
class Eavesdropper:
    """Says that it is a bus without TLS, and keeps what it is sent."""

    connections: int = 0
    heard: bytearray = field(default_factory=bytearray)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.write(b'INFO {"server_id":"x","version":"2.11.0","max_payload":1048576,"headers":true,"nonce":"n"}\r\n')
        self.heard += await reader.read()
        writer.close()


@asynccontextmanager
async def eavesdropping(port: int = 0) -> AsyncIterator[tuple[Eavesdropper, str]]:
    ear = Eavesdropper()
    async with await asyncio.start_server(ear.serve, "127.0.0.1", port) as server:
        yield ear, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.fixture
def plain(tmp_path: Path) -> NatsServer:
    write_certificates(tmp_path)
    config = tmp_path / "plain.conf"
    config.write_text(f"accounts: {{A: {{jetstream: enabled, users: [{USER}]}}}}\n")
    return NatsServer(tmp_path / "nats", config=config)


@pytest.fixture
def under_tls(tmp_path: Path) -> NatsServer:
    write_certificates(tmp_path)
    files = f'cert_file: "{tmp_path}/tls.crt", key_file: "{tmp_path}/tls.key"'
    config = tmp_path / "tls.conf"
    config.write_text(f"tls {{{files}}}\naccounts: {{A: {{jetstream: enabled, users: [{USER}]}}}}\n")
    return NatsServer(tmp_path / "nats", config=config)


@pytest.mark.parametrize("asked", ["tls://", "ca_file"])
async def test_nobody_goes_on_without_the_tls_he_asked_for(plain: NatsServer, tmp_path: Path, asked: str) -> None:
    ca_file = tmp_path / "ca.crt" if asked == "ca_file" else None
    access = Access(user="ANN", password="pass-of-ann", ca_file=ca_file)
    with plain as server:
        url = server.url.replace("nats://", asked) if asked == "tls://" else server.url
        with pytest.raises(NotConnected, match=TOLD):
            await Client(url, "acme", access=access).__aenter__()
        with pytest.raises(BusUnavailableError, match=TOLD):
            await OperatorConnection(url, access).open(1.0)
        settings = RuntimeSettings(
            nats_url=url, nats_user="ANN", nats_password=SecretStr("pass-of-ann"), nats_ca_file=ca_file
        )
        connection = Connection(settings, Metrics(), _nothing)
        with pytest.raises(PlainBusError, match=f"{TOLD}; turn TLS on there"):
            await connection.open()
        await connection.close()


async def test_nothing_is_sent_to_a_bus_without_tls() -> None:
    async with eavesdropping() as (ear, address):
        with pytest.raises(NotConnected, match="turn TLS on there"):
            await Client(f"tls://{address}", "acme", access=Access(user="ANN", password="pass-of-ann")).__aenter__()
        assert ear.connections > 1
        assert ear.heard == b""


async def test_a_web_socket_without_tls_is_none() -> None:
    class Socket:
        _using_tls = False

        def close(self) -> None:
            self.closed = True

    class Unconnected:
        _transport = Socket()

        def _connect_command(self) -> bytes:
            return b"CONNECT"

        async def _close(self) -> None:
            return None

    client = Unconnected()
    secure(client, demanded=True)
    with pytest.raises(NoTlsError):
        client._connect_command()
    assert client._transport.closed
    client._transport._using_tls = True
    assert client._connect_command() == b"CONNECT"


@pytest.mark.parametrize("who", ["client", "service"])
async def test_a_lost_connection_is_made_again_under_tls_or_not_at_all(
    under_tls: NatsServer, tmp_path: Path, who: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An eavesdropper in the bus's place hears no login, nor what is published meanwhile or left at the end."""
    access = Access(user="ANN", password="pass-of-ann", ca_file=tmp_path / "ca.crt")
    with under_tls as server:
        if who == "client":
            caller = fanfuse_client.connection.Connection(server.url, "acme", access)
            await caller.open()
            nc, close = caller.nc, caller.close
        else:
            connection = Connection(
                RuntimeSettings(
                    nats_url=server.url,
                    nats_user="ANN",
                    nats_password=SecretStr("pass-of-ann"),
                    nats_ca_file=tmp_path / "ca.crt",
                ),
                Metrics(),
                _nothing,
            )
            nc, close = await connection.open(), connection.close
        port = int(server.url.rpartition(":")[2])
        server.stop()
        async with eavesdropping(port) as (ear, _):
            assert await eventually(lambda: ear.connections > 0, 30)
            await nc.publish("query", b"what nobody else may read")
            assert await eventually(lambda: ear.connections > 2, 30)
        server.start()
        assert await eventually(lambda: nc.is_connected and nc.stats["reconnects"] == 1, 30)
        server.stop()
        async with eavesdropping(port) as (last, _):
            assert await eventually(lambda: last.connections > 0, 30)
            await nc.publish("query", b"what nobody else may read")
            await close()
    assert bytes(ear.heard + last.heard) == b""
    assert not [message for message in caplog.messages if "eof_received" in message]


async def test_a_refused_login_over_tls_is_told_without_the_warnings_of_asyncio(
    under_tls: NatsServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    access = Access(user="ANN", password="wrong", ca_file=tmp_path / "ca.crt")
    with under_tls as server, pytest.raises(NotAllowed, match="does not let the client in"):
        await Client(server.url, "acme", access=access).__aenter__()
    assert caplog.messages == []


async def test_a_service_that_is_not_let_in_for_a_while_comes_back(under_tls: NatsServer, tmp_path: Path) -> None:
    """FastStream's own callback ended the reconnecting client with the first refusal, for good."""
    config = tmp_path / "tls.conf"
    known, unknown = config.read_text(), config.read_text().replace("pass-of-ann", "another")
    settings = RuntimeSettings(
        nats_user="ANN", nats_password=SecretStr("pass-of-ann"), nats_ca_file=tmp_path / "ca.crt", nats_url="nats://a"
    )
    with under_tls as server:
        connection = Connection(settings.model_copy(update={"nats_url": server.url}), Metrics(), _nothing)
        client = await connection.open()
        server.stop()
        config.write_text(unknown)
        server.start()
        assert await eventually(lambda: "Authorization Violation" in str(client.last_error), 30)
        await asyncio.sleep(0.5)
        server.stop()
        config.write_text(known)
        server.start()
        assert await eventually(lambda: client.is_connected, 30)
        await connection.close()


@pytest.mark.parametrize(
    ("greeting", "told"), [(b"SSH-2.0-x\r\n", "is no NATS server"), (b"", "not a word from there")]
)
async def test_what_is_no_bus_is_told_as_that(greeting: bytes, told: str) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        await asyncio.sleep(2)
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(NotConnected, match=told):
            await Client(url, "acme").__aenter__()
        with pytest.raises(BusUnavailableError, match=told):
            await OperatorConnection(url, Access()).open(1.0)
