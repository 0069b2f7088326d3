"""TLS as the component `tls` has it: servers show each other their certificates, and a renewed one is read again.

On real nats-servers with the shipped files; only paths, addresses and ports are those of this machine.
"""

import os
import re
import signal
import socket
import ssl
from pathlib import Path

import pytest

from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port
from tests.deploy.certificates import write_certificates
from tests.deploy.rendered import K8S

CLUSTER = (K8S / "components/cluster/cluster.conf").read_text(encoding="utf-8")
ROUTES_TLS = (K8S / "components/tls/routes-tls.conf").read_text(encoding="utf-8")
TLS = (K8S / "components/tls/tls.conf").read_text(encoding="utf-8")
FORMED = re.compile(r"Self is new JetStream cluster metadata leader|cluster new metadata leader: ")


def member(folder: Path, name: str, ports: dict[str, int], *, tls: bool = True) -> NatsServer:
    """One server of the shipped cluster, its certificate in the folder `name`."""
    own = folder / name
    own.mkdir()
    text = CLUSTER.replace("0.0.0.0:6222", f"127.0.0.1:{ports[name]}")
    for other, port in ports.items():
        text = text.replace(f"{other}.nats-headless:6222", f"127.0.0.1:{port}")
    routes = ROUTES_TLS.replace("/etc/nats-tls", str(folder)) if tls else ""
    (own / "routes-tls.conf").write_text(routes)
    (own / "nats.conf").write_text(f"server_name: {name}\n{text}")
    return NatsServer(own / "nats", config=own / "nats.conf")


def log_of(folder: Path, name: str) -> str:
    return (folder / name / "nats" / "nats-server.log").read_text(errors="replace")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_certificates(tmp_path)
    return tmp_path


async def test_a_cluster_forms_over_tls_and_lets_nobody_in_without_a_certificate(folder: Path) -> None:
    ports = {name: free_port() for name in ("nats-0", "nats-1", "nats-2")}
    servers = [member(folder, name, ports) for name in ports]
    outsider = member(folder, "nats-3", ports | {"nats-3": free_port()}, tls=False)
    try:
        for server in servers:
            server.start()
        assert await eventually(lambda: all(FORMED.search(log_of(folder, name)) for name in ports), 90, 0.2)
        outsider.start()
        assert await eventually(lambda: "TLS route handshake error" in log_of(folder, "nats-0"), 90, 0.2)
        assert not FORMED.search(log_of(folder, "nats-3"))
    finally:
        for server in (*servers, outsider):
            server.kill()


def certificate(port: int) -> bytes:
    """What the server shows to a client that begins with TLS after its first line."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        plain.recv(65_536)
        with context.wrap_socket(plain) as secured:
            shown = secured.getpeercert(binary_form=True)
    assert shown is not None
    return shown


async def test_a_renewed_certificate_is_shown_after_a_reload(folder: Path) -> None:
    """cert-manager renews it; without the signal of the reloader the old one would be shown until it is over."""
    (folder / "nats.conf").write_text(TLS.replace("/etc/nats-tls", str(folder)))
    with NatsServer(folder / "nats", config=folder / "nats.conf") as server:
        port = int(server.url.rpartition(":")[2])
        before = certificate(port)
        write_certificates(folder)
        assert certificate(port) == before
        os.kill(server.pid, signal.SIGHUP)
        assert await eventually(lambda: certificate(port) != before, 90, 0.2)
