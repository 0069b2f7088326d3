"""What a command was told and can't use: one plain line that names it, and exit code 2."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fanfuse_cli.failures import plainly
from fanfuse_cli.main import app
from fanfuse_contracts.addresses import checked_addresses
from fanfuse_runtime import process
from fanfuse_runtime.errors import needed_to_start

WRONG_BUS = "http://127.0.0.1:4222"
TENANT = ("--tenant", "acme")


def refused(*arguments: str, **environment: str) -> str:
    """What a command that is refused says on standard error."""
    env = {"NATS_URL": "", "FANFUSE_NATS_URL": "", "COLUMNS": "300", "TERM": "dumb"} | environment
    done = CliRunner(env=env).invoke(app, arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    "command",
    [("ask", "x", *TENANT), ("status",), ("explain", "q1", *TENANT), ("up",), ("deploy", "setup"), ("health", "list")],
    ids=lambda command: command[0],
)
def test_an_address_that_is_no_bus_is_refused_at_once(command: tuple[str, ...]) -> None:
    said = refused(*command, NATS_URL=WRONG_BUS)
    assert "NATS_URL" in said
    assert (
        f"{WRONG_BUS} is no address of a bus (NATS_URL): it begins with one of nats://, tls://, ws://, wss://" in said
    )


def test_addresses_of_every_scheme_and_of_none_are_taken() -> None:
    for address in ("nats://a:1", "tls://a,tls://b", "wss://a", "localhost:4222", "nats://u:p@[::1]:4222, nats://b"):
        assert checked_addresses(address) == address
    with pytest.raises(ValueError, match=r"^http://\*\*\*@a is no address"):
        checked_addresses("nats://a,http://me:secret@a")


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("nats://me:secret@a:99999", "a port is a number from 1 to 65535"),
        ("a:0", "a port is a number from 1 to 65535"),
        ("nats://::1:4222", "an IPv6 address stands in brackets"),
        ("nats://", "it names no host"),
        ("nats://a,", "it names no host"),
    ],
)
def test_what_no_bus_can_be_at_is_refused_before_anything_is_tried(address: str, fault: str) -> None:
    said = refused("ask", "x", *TENANT, NATS_URL=address)
    assert "is no address of a bus (NATS_URL): " in said
    assert fault in said
    assert "secret" not in said


def test_a_port_of_the_bus_that_can_not_be_had_is_told_by_its_cause(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused("up", "--port", str(port), "--data", str(tmp_path))
    cause = f"fanfuse: nats-server ended with code 1: Error listening on port: 127.0.0.1:{port}"
    assert said.startswith(cause)
    assert "address already in use" in said
    assert "--port" in refused("up", "--port", "99999", "--data", str(tmp_path))


def test_a_filter_that_is_nested_without_end_is_refused() -> None:
    nested = '{"not":' * 3_000 + '{"field": "lang", "op": "eq", "value": "de"}' + "}" * 3_000
    assert "--filter is nested deeper than 5 levels" in refused("ask", "x", *TENANT, "--filter", nested)


def test_bytes_that_are_no_text_are_told_with_their_file(tmp_path: Path) -> None:
    file = tmp_path / "binary"
    file.write_bytes(b"a: \xff\xfe")
    assert f"{file} is no users file: byte 3 is not UTF-8" in refused("tenants", "list", "--users", str(file))
    (tmp_path / "empty.yaml").write_text("{}")
    lint = ("routing", "lint", "--file", str(tmp_path / "empty.yaml"), "--queries", str(file))
    assert f'{file}:1: not a JSON object with "text"' in refused(*lint)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert f"'{absent}' does not exist" in refused("index", str(absent), *TENANT, "--corpus", "docs")
    said = refused("explain", "q1", *TENANT, "--picture", f"{absent}/p.svg")
    assert f"there is no folder {absent}, make it first" in said


def test_what_a_file_can_not_do_is_told_with_its_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    @plainly
    def command() -> str:
        return (tmp_path / "absent").read_text()

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err == f"fanfuse: {tmp_path}/absent: No such file or directory\n"


def test_a_service_says_which_signal_stopped_it() -> None:
    """Also one that still waits for its bus."""
    command = [sys.executable, "-m", "fanfuse_classifier"]
    env = {"PATH": "", "NATS_URL": "nats://127.0.0.1:1", "FANFUSE_LOG_LEVEL": "info"}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        assert service.stdout is not None
        told = ""
        while "bus.error" not in told:
            told = service.stderr.readline()
            assert told, service.stdout.read()
        service.terminate()
        lines = [json.loads(line) for line in service.stderr.read().splitlines()]
    assert service.returncode == 0
    named = [(line["event"], line.get("signal")) for line in lines if line["component"] == "process"]
    assert named == [("process.stopping", "SIGTERM"), ("process.stopped", None)]


@pytest.mark.parametrize("variable", ["FANFUSE_OPS_PORT", "NATS_URL"])
def test_a_service_names_what_it_can_not_use(variable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        value = WRONG_BUS if variable == "NATS_URL" else str(taken.getsockname()[1])
        command = [sys.executable, "-m", "fanfuse_classifier"]
        env = {"PATH": "", variable: value, "FANFUSE_LOG_LEVEL": "warning"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith("fanfuse: ")
    for part in (variable, value, "is no address of a bus" if variable == "NATS_URL" else "Address already in use"):
        assert part in line


def test_a_service_says_what_it_waited_for_in_vain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 1, and no traceback: whoever watches over it starts it again."""

    async def in_vain(*_: object) -> None:
        with needed_to_start("the registry of corpora"):
            raise TimeoutError

    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(process, "serve", in_vain)
    monkeypatch.setattr(process, "configure_logs", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        process.main()
    assert ended.value.code == 1
    told = "fanfuse: the registry of corpora did not come from the bus: the bus does not answer in time."
    assert capsys.readouterr().err == f"{told} Start the process again\n"
