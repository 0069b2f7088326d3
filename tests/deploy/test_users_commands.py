"""`fanfuse tenants` and the users that `fanfuse deploy` makes: what they write, and that a server reads it."""

import asyncio
import stat
import subprocess
import sysconfig
from pathlib import Path

import nats
import pytest
import yaml
from typer.testing import CliRunner, Result

from fanfuse_cli.main import app
from fanfuse_contracts import permissions
from fanfuse_contracts.access import Access
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.server import NatsServer, find_nats_server
from fanfuse_testing.ports import free_port

MIXED = """
backends:
  vector: {main: {engine: qdrant, url: "http://qdrant:6333"}, hot: {engine: qdrant, url: "http://hot:6333"}}
  keyword: {eu: {engine: elasticsearch, url: "http://search:9200", pool: search}}
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fanfuse.yaml").write_text(MIXED)


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result


def test_every_service_and_pool_of_the_file_gets_a_key_once() -> None:
    """Pools come from the file: two of vector, the one that `eu` names, and the embedded graph."""
    made = run("deploy", "keys", "-f", "fanfuse.yaml").stdout.split()
    pools = ((Kind.GRAPH, "main"), (Kind.KEYWORD, "search"), (Kind.VECTOR, "hot"), (Kind.VECTOR, "main"))
    assert sorted(made) == sorted(one.user for one in permissions.of_everyone(pools, ()))
    assert run("deploy", "keys", "-f", "fanfuse.yaml").stdout == ""
    seed = Path("nats-seeds/worker-vector-hot.nk")
    assert stat.S_IMODE(seed.stat().st_mode) == 0o600
    assert seed.read_text() not in Path("nats-users.yaml").read_text()


def test_a_tenant_is_added_gets_a_second_key_and_is_revoked() -> None:
    run("deploy", "keys", "-f", "fanfuse.yaml")
    first = run("tenants", "add", "acme").stdout.strip()
    second = run("tenants", "add", "acme", "--seed", "new.nk").stdout.strip()
    assert run("tenants", "list").stdout.splitlines() == [f"acme {first}", f"acme {second}"]
    assert connects("acme.nk")
    assert connects("new.nk")
    run("tenants", "revoke", "acme", "--key", first)
    assert not connects("acme.nk")
    assert connects("new.nk")
    run("tenants", "revoke", "acme")
    assert yaml.safe_load(Path("nats-users.yaml").read_text())["tenants"] == {}
    assert not connects("new.nk")


def connects(seed: str) -> bool:
    """True if a server with the users as they stand now lets this key in."""
    Path("users.conf").write_text(run("deploy", "nats", "-f", "fanfuse.yaml").stdout)
    Path("nats.conf").write_text("include ./users.conf\n")
    with NatsServer(Path("server"), config=Path("nats.conf").resolve()) as server:
        return asyncio.run(is_let_in(server.url, Access(nkey=Path(seed))))


async def is_let_in(url: str, access: Access) -> bool:
    try:
        client = await nats.connect(url, allow_reconnect=False, **access.options())
    except nats.errors.Error:
        return False
    await client.close()
    return True


def test_the_key_of_a_service_is_changed_without_a_pause() -> None:
    """Both are let in until the old one is taken away; the old seed stays, and a last key too."""
    run("deploy", "keys", "-f", "fanfuse.yaml")
    old = yaml.safe_load(Path("nats-users.yaml").read_text())["services"]["FUSER"][0]
    seed = Path("nats-seeds/fuser.nk").read_text()
    new = run("deploy", "keys", "--again", "FUSER").stdout.strip()
    assert Path("nats-seeds/fuser.nk").read_text() == seed
    assert connects("nats-seeds/fuser.nk")
    assert connects("nats-seeds/fuser-2.nk")
    run("deploy", "keys", "--without", old)
    assert not connects("nats-seeds/fuser.nk")
    assert connects("nats-seeds/fuser-2.nk")
    assert "last key of FUSER" in run("deploy", "keys", "--without", new, code=2).output


def test_a_seed_that_was_moved_away_leaves_its_name_to_the_next() -> None:
    run("deploy", "keys", "-f", "fanfuse.yaml")
    Path("nats-seeds/operator.nk").rename("operator.nk")
    run("deploy", "keys", "--again", "OPERATOR")
    assert connects("operator.nk")
    assert connects("nats-seeds/operator.nk")


@pytest.mark.parametrize("what", ["nats", "workers", "nack"])
def test_a_file_is_written_whole_or_stays_as_it_was(what: str) -> None:
    """An empty users.conf would open the bus to everybody."""
    Path("fanfuse.yaml").write_text(f'{MIXED}  graph: {{main: {{engine: neo4j, url: "bolt://graph:7687"}}}}')
    run("deploy", "keys", "-f", "fanfuse.yaml")
    printed = run("deploy", what, "-f", "fanfuse.yaml").stdout
    assert run("deploy", what, "-f", "fanfuse.yaml", "--out", "made").stdout == ""
    assert Path("made").read_text() == printed
    Path("fanfuse.yaml").write_text("backends: {vector: {main: {engine: none}}}")
    run("deploy", what, "-f", "fanfuse.yaml", "-o", "made", code=2)
    assert Path("made").read_text() == printed
    run("deploy", what, "-f", "fanfuse.yaml", "-o", "never", code=2)
    assert not Path("never").exists()


def test_an_embedded_pool_that_is_written_is_kept_and_one_that_is_gone_is_named() -> None:
    both = "backends: {vector: {main: {engine: embedded}, hot: {engine: embedded, pool: hot}}}"
    Path("fanfuse.yaml").write_text(both)
    made = run("deploy", "keys", "-f", "fanfuse.yaml").stdout.split()
    assert {"WORKER-VECTOR-MAIN", "WORKER-VECTOR-HOT", "WORKER-KEYWORD-MAIN"} <= set(made)
    assert "left out" not in run("deploy", "nats", "-f", "fanfuse.yaml", "-o", "users.conf").stderr
    assert "0 new" in run("deploy", "keys", "-f", "fanfuse.yaml").stderr
    told = run("deploy", "nats", "-o", "users.conf").stderr
    assert "WORKER-VECTOR-HOT: a key, but no pool of the default configuration for it; left out" in told


@pytest.mark.parametrize("way", [(), ("--tenant-connections", "7"), ("--one-account",)])
def test_the_server_finds_no_fault_in_what_is_printed(way: tuple[str, ...]) -> None:
    run("deploy", "keys", "-f", "fanfuse.yaml")
    for tenant in ("acme", "123", "0", "1k", "true", "include", "-", "_", "fanfuse", "a" * 64):
        run("tenants", "add", tenant, "--seed", f"{tenant}.nk")
    Path("nats.conf").write_text(run("deploy", "nats", "-f", "fanfuse.yaml", *way).stdout)
    done = subprocess.run([find_nats_server(), "-t", "-c", "nats.conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("deploy", "nats", "-f", "fanfuse.yaml"), "no key for SETUP"),
        (("deploy", "nats", "--one-account", "--tenant-connections", "7"), "no limit per tenant"),
        (("tenants", "revoke", "acme"), "acme is no tenant"),
        (("deploy", "setup", "--losing", "QUERIES"), "state both"),
        (("deploy", "keys", "--again", "FUSER"), "FUSER is no service with a key"),
        (("deploy", "keys", "--without", "U"), "U is no key of a service"),
        (("deploy", "keys", "--without", "U", "--again", "FUSER"), "two steps"),
        (("tenants", "add", "FUSER"), "not valid"),
        (("tenants", "add", "acme", "--seed", "fanfuse.yaml"), "never written over another"),
    ],
)
def test_what_cannot_be_done_is_said_plainly(arguments: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code in (1, 2)
    assert told in result.output


def test_a_folder_that_is_not_there_costs_no_key() -> None:
    assert "nodir is no folder" in run("tenants", "add", "acme", "--users", "nodir/u.yaml", code=2).output
    run("tenants", "add", "acme")


def test_a_bus_that_is_away_is_told_in_one_line_within_the_stated_time() -> None:
    """No traceback of the client, and the exit code of a bus that does not run."""
    fanfuse = Path(sysconfig.get_path("scripts")) / "fanfuse"
    command = [str(fanfuse), "deploy", "setup", "--nats-url", f"nats://127.0.0.1:{free_port()}", "--within", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "was not set up within 0.5 s" in line
    assert "Connect call failed" in line
