"""A server that does not make the streams: one plain line with what to do, from every process and command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest
from typer.testing import CliRunner

from fanfuse_cli.main import app
from fanfuse_contracts.streams import Storage
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.setup import (
    Rights,
    SetupRefusedError,
    ensure_topology,
    in_time,
    least_free_disk_bytes,
    reserved_bytes,
)
from fanfuse_testing.flow import logs_of_a_process

NO_ROOM = "insufficient storage resources available"
DOCUMENTED = Path(__file__).parents[3] / "README.md"


def limited(folder: Path, limits: str) -> NatsServer:
    config = folder / "nats.conf"
    config.write_text(limits)
    return NatsServer(folder / "store", config=config)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NatsServer]:
    """A server with one byte too little, as on a small disk."""
    limits = f"jetstream {{ max_file_store: {reserved_bytes(Storage.FILE) - 1} }}"
    with logs_of_a_process(), limited(tmp_path, limits) as server:
        monkeypatch.setenv("NATS_URL", server.url)
        monkeypatch.setenv("FANFUSE_DATA_DIR", str(tmp_path / "data"))
        yield server


@pytest.mark.parametrize(
    "command",
    [
        ["up"],
        ["status"],
        ["index", str(DOCUMENTED), "--tenant", "acme", "--corpus", "docs"],
        ["deploy", "setup"],
    ],
    ids=lambda command: command[0],
)
def test_no_room_for_the_streams_is_one_line_of_every_command(small: NatsServer, command: list[str]) -> None:
    done = CliRunner().invoke(app, command)
    *_, line = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (2, "")
    assert NO_ROOM in line
    assert f"have {least_free_disk_bytes() / 1e9:.1f} GB of disk free" in line
    assert "fanfuse up`" not in line, "one runs already"


def test_no_room_for_the_streams_ends_a_service_with_one_line(small: NatsServer) -> None:
    environment = os.environ | {"NATS_URL": small.url}
    command = [sys.executable, "-m", "fanfuse_health"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    *_, line = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith("fanfuse: ")
    assert NO_ROOM in line
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (f"jetstream {{ max_memory_store: {reserved_bytes(Storage.MEMORY) - 1} }}", "insufficient memory"),
        ("jetstream: {}\naccounts { A { jetstream: { max_file: 1G }, users: [{ user: a }] } }\n"
         "no_auth_user: a", "insufficient storage"),
        ("accounts { A { users: [{ user: a }] } }\nno_auth_user: a", "not enabled for account"),
    ],
)  # fmt: skip
async def test_each_limit_of_a_server_is_named(tmp_path: Path, limits: str, why: str) -> None:
    with limited(tmp_path, limits) as server:
        client = await nats.connect(server.url)
        with pytest.raises(SetupRefusedError, match=why):
            await in_time(lambda: ensure_topology(client.jetstream()), tries=2)
        await client.close()


async def test_the_stated_room_is_enough(tmp_path: Path) -> None:
    room = f"max_file_store: {reserved_bytes(Storage.FILE)}, max_memory_store: {reserved_bytes(Storage.MEMORY)}"
    with limited(tmp_path, f"jetstream {{ {room} }}") as server:
        client = await nats.connect(server.url)
        await in_time(lambda: ensure_topology(client.jetstream()), tries=2)
        await in_time(lambda: ensure_topology(client.jetstream(), Rights()), tries=0, others_create=False)
        await client.close()
    assert f"{least_free_disk_bytes() / 1e9:.1f} GB of free disk" in DOCUMENTED.read_text(encoding="utf-8")
