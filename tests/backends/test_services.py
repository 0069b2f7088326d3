"""`make services`: what it starts, what it prints, and that nothing is left behind."""

import asyncio
import dataclasses
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr

from fanfuse_backend_workers.adapters import neo4j, opensearch
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from tests.servers import compose, maven
from tests.servers.compose import ENGINES, FILE, container_engine, containers
from tests.servers.maven import MissingServerError, class_path, java_for
from tests.servers.neo4j import NEO4J_5, PASSWORD
from tests.servers.noida import noida_url
from tests.servers.opensearch import own_opensearch
from tests.servers.opensearch_release import OPENSEARCH_2
from tests.servers.qdrant import QdrantShim

COMPOSE = ("docker", "compose")
DOCKER = """#!{python}
import sys
arguments = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(" ".join(arguments) + "\\n")
if "port" in arguments:
    print({addresses!r}[arguments[-2]])
raise SystemExit({broken!r} in arguments)
"""


class Docker:
    """A command `docker` that does nothing but tell what it was asked."""

    def __init__(self, folder: Path, addresses: dict[str, str], broken: str = "") -> None:
        self._log = folder / "log"
        command = folder / "docker"
        told = {"python": sys.executable, "log": str(self._log), "addresses": addresses, "broken": broken}
        command.write_text(DOCKER.format(**told))
        command.chmod(0o755)

    @property
    def asked(self) -> list[str]:
        lines = self._log.read_text().splitlines()
        return [re.sub(r"--project-name fanfuse-engines-\d+ --file \S+/", "", line) for line in lines]


@pytest.fixture
def shim() -> Iterator[QdrantShim]:
    shim = QdrantShim().start()
    yield shim
    shim.stop()


def test_the_file_says_what_the_variables_point_at() -> None:
    """Pinned images, ports of this machine only, nothing kept on a disk."""
    stated = yaml.safe_load(FILE.read_text())["services"]
    assert set(stated) == {engine.service for engine in ENGINES}
    for engine in ENGINES:
        service = stated[engine.service]
        assert re.search(r":v?\d+\.\d+\.\d+(-community)?$", service["image"])
        assert service["ports"] == [f"127.0.0.1::{engine.port}"]
        assert service["tmpfs"]
        assert "volumes" not in service
    assert stated["neo4j"]["environment"]["NEO4J_AUTH"] == f"neo4j/{PASSWORD}"


def test_containers_are_waited_for_and_removed_whatever_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shim: QdrantShim
) -> None:
    addresses = {"qdrant": shim.url.removeprefix("http://"), "elasticsearch": noida_url().removeprefix("http://")}
    docker = Docker(tmp_path, addresses)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compose, "ENGINES", ENGINES[:2])
    assert container_engine() == COMPOSE
    running = containers(COMPOSE)
    assert running.__enter__() == {"QDRANT_URL": shim.url, "ELASTICSEARCH_URL": noida_url()}
    assert not running.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert docker.asked == [
        "info",
        "compose version",
        "compose engines.yaml up --detach --quiet-pull",
        "compose engines.yaml port qdrant 6333",
        "compose engines.yaml port elasticsearch 9200",
        "compose engines.yaml down --volumes --timeout 5",
    ]


@pytest.mark.parametrize("broken", ["info", "version"])
def test_docker_without_its_engine_or_compose_is_no_container_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    Docker(tmp_path, {}, broken)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert container_engine() is None


def test_a_machine_without_maven_skips_with_a_reason_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maven, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unknown = dataclasses.replace(OPENSEARCH_2, version="2.0.0")
    with pytest.raises(pytest.skip.Exception, match=r"no real OpenSearch 2.0.0 here: Maven \(mvn\) is not installed"):
        own_opensearch(unknown)
    assert list(tmp_path.glob("fanfuse-*")) == []


@pytest.mark.engine
def test_java_servers_run_until_they_are_told_to_end(tmp_path: Path) -> None:
    """Both answer their adapters; afterwards no process and no file of theirs is left."""
    try:
        for release in (OPENSEARCH_2, NEO4J_5):
            java_for(release)
            class_path(release)
    except MissingServerError as error:
        pytest.skip(str(error))
    files = tmp_path / "files"
    files.mkdir()
    Docker(tmp_path, {}, "info")
    environment = {**os.environ, "TMPDIR": str(files), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "tests.servers.services"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = dict(process.stdout.readline().removeprefix("export ").strip().split("=", 1) for _ in range(4))
        password = SecretStr(told["NEO4J_PASSWORD"])
        asyncio.run(healthy(opensearch.connect(ServerSettings(told["OPENSEARCH_URL"]))))
        asyncio.run(healthy(neo4j.connect(ServerSettings(told["NEO4J_URI"], told["NEO4J_USERNAME"], password))))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert list(files.iterdir()) == []
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(files) not in running


async def healthy(backend: ServerBackend) -> None:
    """It answers its adapter."""
    try:
        await backend.health()
    finally:
        await backend.close()
