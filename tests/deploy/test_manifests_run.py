"""The processes of the overlay `prod` as its manifests state them, on a real server with the users made for it.

The job's command sets up the bus, a Deployment's environment starts a service as its user, SIGTERM ends it within its
grace period (NAT-09), and the server had nothing to refuse. Only paths and addresses are those of this machine.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fanfuse_contracts import streams
from fanfuse_runtime.children import ended_with_parent
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port
from fanfuse_testing.processes import get_page
from tests.deploy.manifests import pod
from tests.deploy.rendered import Objects, objects, prepare

pytestmark = pytest.mark.slow


class Machine:
    """Where the paths of a pod are on this machine."""

    def __init__(self, root: Path, server: NatsServer) -> None:
        self.prod = root / "overlays" / "prod"
        self.server = server

    def environment(self, workload: dict[str, Any], port: int) -> dict[str, str]:
        """The environment of the pod's container, its Secret and ConfigMap included."""
        stated = {row["name"]: row["value"] for row in pod(workload)["containers"][0]["env"]}
        volumes = {volume["name"]: volume for volume in pod(workload)["volumes"]}
        seed = volumes["nats-user"]["secret"]["secretName"].removeprefix("nats-")
        here = {
            "NATS_URL": self.server.url,
            "FANFUSE_NATS_NKEY": str(self.prod / "nats-seeds" / f"{seed}.nk"),
            "FANFUSE_DATA_DIR": str(self.prod / "data"),
            "FANFUSE_OPS_HOST": "127.0.0.1",
            "FANFUSE_OPS_PORT": str(port),
            "FANFUSE_CONFIG_FILE": str(self.prod / "fanfuse.yaml"),
            "FANFUSE_STREAM_REPLICAS": "1",
        }
        # The server of this test has no TLS; test_access has.
        mine = {name: here.get(name, value) for name, value in stated.items() if name != "FANFUSE_NATS_CA_FILE"}
        others = {name: value for name, value in os.environ.items() if not name.startswith(("FANFUSE", "NATS"))}
        return others | mine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    root = prepare(tmp_path)
    config = root / "overlays" / "prod" / "nats.conf"
    config.write_text("include ./users.conf\n")
    with NatsServer(tmp_path / "nats", config=config) as server:
        yield Machine(root, server)


def of_kind(those: Objects, kind: str) -> Objects:
    return [each for each in those if each["kind"] == kind]


async def test_every_process_of_the_manifests_starts_is_ready_and_stops(machine: Machine, tmp_path: Path) -> None:
    those = objects(tmp_path / "k8s", "prod")
    (job,) = of_kind(those, "Job")
    told = run_job(machine, job)
    assert {stream.name for stream in streams.STREAMS} <= set(told)
    running: dict[str, tuple[subprocess.Popen[bytes], int]] = {}
    deployments = {each["metadata"]["name"]: each for each in of_kind(those, "Deployment")}
    for one_of_three in ("worker-graph-main", "worker-vector-main"):
        del deployments[one_of_three]
    try:
        for name, each in deployments.items():
            port = free_port()
            running[name] = started(each, machine.environment(each, port), tmp_path / f"{name}.log"), port
        for name, (child, port) in running.items():
            assert await eventually(partial(is_ready, child, port), 150, 0.2), name
        for name, (child, _) in running.items():
            assert stopped_in_time(child, deployments[name]) == 0, name
    finally:
        for child, _ in running.values():
            child.kill()
            child.wait()
    log = (tmp_path / "nats" / "nats-server.log").read_text(errors="replace")
    assert [line for line in log.splitlines() if "Violation" in line] == []


def started(deployment: dict[str, Any], environment: dict[str, str], log: Path) -> "subprocess.Popen[bytes]":
    """What the image of the container runs (deploy/docker/Dockerfile)."""
    service = pod(deployment)["containers"][0]["image"].rpartition("/")[2].partition(":")[0]
    command = [sys.executable, "-m", f"fanfuse_{service.replace('-', '_')}"]
    with log.open("wb") as file:
        return subprocess.Popen(
            command, env=environment, stdout=file, stderr=file, preexec_fn=ended_with_parent(signal.SIGKILL)
        )


def run_job(machine: Machine, job: dict[str, Any]) -> list[str]:
    arguments = [
        str(machine.prod / "fanfuse.yaml") if word == "/etc/fanfuse/fanfuse.yaml" else word
        for word in pod(job)["containers"][0]["args"]
    ]
    command = [str(Path(sys.executable).with_name("fanfuse")), *arguments]
    done = subprocess.run(
        command, env=machine.environment(job, 0), capture_output=True, text=True, check=False, timeout=90
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


async def is_ready(child: "subprocess.Popen[bytes]", port: int) -> bool:
    assert child.poll() is None, "it ended by itself"
    return (await get_page(port, "/readyz"))[0] == 200


def stopped_in_time(child: "subprocess.Popen[bytes]", deployment: dict[str, Any]) -> int:
    """Exit code after SIGTERM; raises where the kubelet would have killed it."""
    child.terminate()
    return child.wait(timeout=pod(deployment)["terminationGracePeriodSeconds"])
