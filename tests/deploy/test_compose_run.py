"""compose.yaml, run by Docker Compose: the bus, the setup step and the five services, on the images of `make images`.

The engines are left out: workers are ready without them. It needs an engine that Docker Compose reaches (Docker, or
podman's socket as DOCKER_HOST) with these images; `make image-check` runs it.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from fanfuse_contracts import streams
from fanfuse_contracts.enums import Stage
from fanfuse_testing.flow import eventually
from tests.deploy.rendered import ROOT

pytestmark = pytest.mark.nightly

FILE: Final = ROOT / "deploy/compose/compose.yaml"
STATED: Final = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
SERVICES: Final = tuple(stage.value for stage in Stage)
NO_PORTS: Final = "services: {nats: {ports: !reset []}}\n"


class Project:
    """The file under a name of its own, without ports of this machine."""

    def __init__(self, folder: Path) -> None:
        (folder / "ports.yaml").write_text(NO_PORTS)
        own = ["--project-name", f"fanfuse-{folder.name.replace('_', '-')}", "--profile", "tools"]
        self._command = ["docker", "compose", *own, "-f", str(FILE), "-f", str(folder / "ports.yaml")]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*self._command, *words], capture_output=True, text=True, check=False, timeout=180)

    def must(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def cli(self, *words: str) -> str:
        """What the alias `fanfuse-cli` of deploy/README.md prints."""
        return self.must("run", "--rm", "--no-deps", "-T", "cli", *words)

    def is_healthy(self, service: str) -> bool:
        """By the health check of the file, asked now: podman without systemd asks none by itself."""
        _, *words = STATED[service]["healthcheck"]["test"]
        return self.run("exec", "-T", service, *words).returncode == 0

    def containers(self) -> dict[str, dict[str, Any]]:
        """By service, those that have ended too."""
        rows = map(json.loads, self.must("ps", "--all", "--format", "json").splitlines())
        return {row["Service"]: row for row in rows}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no Docker Compose here to run the file")
    for service in ("nats", "cli", *SERVICES):
        wanted = STATED[service]["image"]
        if subprocess.run([docker, "image", "inspect", wanted], capture_output=True, check=False).returncode:
            pytest.skip(f"no image {wanted} where Docker Compose runs")
    made = Project(tmp_path)
    yield made
    made.run("down", "--volumes", "--timeout", "0")


async def test_the_file_runs(project: Project, say: Callable[[str], None]) -> None:
    project.must("up", "--detach", "--no-deps", "--pull", "never", "nats")
    assert await eventually(lambda: project.is_healthy("nats"), 60, 0.5)
    made = project.must("run", "--rm", "--no-deps", "-T", "setup").splitlines()
    assert {spec.name for spec in (*streams.STREAMS, *streams.BUCKETS)} <= set(made)
    project.must("up", "--detach", "--no-deps", "--pull", "never", *SERVICES)
    for service in SERVICES:
        assert await eventually(partial(project.is_healthy, service), 150, 0.5)
    status = project.cli("status").splitlines()
    assert [row.split()[:4] for row in status if row.startswith(SERVICES)] == [
        [service, "1", "of", "1"] for service in SERVICES
    ]
    asked = project.run("run", "--rm", "--no-deps", "-T", "cli", "ask", "--tenant", "acme", "how are lanes fused?")
    assert "rejected" in asked.stdout + asked.stderr, "it has no corpus"
    project.must("stop", *SERVICES)
    ended = {service: each["ExitCode"] for service, each in project.containers().items() if service in SERVICES}
    say(f"exit codes after SIGTERM: {ended}")
    assert ended == dict.fromkeys(SERVICES, 0)
