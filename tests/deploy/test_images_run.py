"""The images of `make images`, run as the manifests of the overlay `prod` say, on a real server with TLS and users.

Restricted as in the cluster (another user, read-only root, no capability, limits of memory and CPU), by the commands,
environment and mounts of the manifest. `make image-check` runs it; it needs podman and the images.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from fanfuse_client import Client
from fanfuse_contracts import streams
from fanfuse_contracts.access import Access
from fanfuse_contracts.enums import Stage, Status
from fanfuse_contracts.query import Principal
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port
from fanfuse_testing.processes import get_page
from tests.deploy.certificates import write_certificates
from tests.deploy.containers import PODMAN, Container, missing_images, podman, why_nothing_runs, words_of
from tests.deploy.manifests import Object, pod
from tests.deploy.rendered import Objects, objects, prepare

pytestmark = pytest.mark.nightly
_NOT_BY_THIS_TEST = {"worker-graph-main", "worker-vector-main"}
"""Workers alike: one pool stands for the three."""


@dataclass(frozen=True)
class Site:
    """A server on this machine, and what the Secrets and ConfigMaps of the cluster would hold."""

    server: NatsServer
    folder: Path
    objects: Objects

    @property
    def prod(self) -> Path:
        """The overlay, with what was made for it."""
        return self.folder / "k8s" / "overlays" / "prod"

    def workloads(self, kind: str) -> dict[str, Object]:
        found = {each["metadata"]["name"]: each for each in self.objects if each["kind"] == kind}
        return {name: each for name, each in found.items() if name not in _NOT_BY_THIS_TEST}

    def words(self, workload: Object, ops_port: int) -> list[str]:
        here = {
            "NATS_URL": self.server.url.replace("127.0.0.1", "nats"),
            "FANFUSE_OPS_PORT": str(ops_port),
            "FANFUSE_STREAM_REPLICAS": "1",
        }
        return ["--network=host", "--add-host=nats:127.0.0.1", *words_of(workload, self._volumes(workload), here)]

    def _volumes(self, workload: Object) -> dict[str, Path]:
        """Folder by volume, as the kubelet lays them: files for the group of the pod, empty ones that it may write."""
        laid = self.folder / "mounted" / workload["metadata"]["name"]
        group = pod(workload)["securityContext"]["fsGroup"]
        return {
            volume["name"]: laid_out(laid / volume["name"], self._files(volume), group)
            for volume in pod(workload)["volumes"]
        }

    def _files(self, volume: Object) -> dict[str, Path]:
        if "configMap" in volume:
            return {"fanfuse.yaml": self.prod / "fanfuse.yaml"}
        if "emptyDir" in volume:
            return {}
        secret = volume["secret"]["secretName"]
        if secret == "nats-tls":
            return {"ca.crt": self.folder / "ca.crt"}
        return {"user.nk": self.prod / "nats-seeds" / f"{secret.removeprefix('nats-')}.nk"}


def laid_out(folder: Path, files: dict[str, Path], group: int) -> Path:
    folder.mkdir(parents=True)
    os.chown(folder, 0, group)
    folder.chmod(0o2775)
    for name, source in files.items():
        shutil.copyfile(source, folder / name)
        os.chown(folder / name, 0, group)
        (folder / name).chmod(0o440)
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    if PODMAN is None:
        pytest.skip("no podman here to run an image")
    if os.getuid():
        pytest.skip("files of a group of the pod's need root")
    tmp_path.chmod(0o755)
    root = prepare(tmp_path)
    write_certificates(tmp_path)
    shutil.copyfile(root / "overlays/prod/users.conf", tmp_path / "users.conf")
    tls = f'cert_file: "{tmp_path}/tls.crt", key_file: "{tmp_path}/tls.key", min_version: "1.3"'
    (tmp_path / "nats.conf").write_text(f"include ./users.conf\ntls {{{tls}}}\n")
    found = objects(root, "prod")
    workloads = [each for each in found if each["kind"] in ("Deployment", "Job")]
    missing = missing_images(workloads)
    if missing:
        pytest.skip(f"`make images ENGINE=podman` has not built {', '.join(missing)}")
    if fault := why_nothing_runs(pod(workloads[0])["containers"][0]["image"]):
        pytest.skip(f"podman can run no container here: {fault}")
    with NatsServer(tmp_path / "nats", config=tmp_path / "nats.conf") as server:
        yield Site(server, tmp_path, found)


async def test_every_image_runs_as_its_manifest_says(site: Site, say: Callable[[str], None]) -> None:
    """NAT-09 for the shipped images: the job sets up, all are ready, answer a query, and drain in time."""
    (job,) = site.workloads("Job").values()
    done = podman("run", "--rm", *site.words(job, 0))
    assert done.returncode == 0, done.stderr
    assert {stream.name for stream in streams.STREAMS} <= set(done.stdout.splitlines())
    deployments = site.workloads("Deployment")
    assert len(deployments) == len(Stage)
    running: dict[str, tuple[Container, int]] = {}
    try:
        for name, each in deployments.items():
            port = free_port()
            running[name] = Container(f"fanfuse-test-{name}-{port}", site.words(each, port)), port
        for name, (_, port) in running.items():
            assert await is_probed(deployments[name], port), name
        for container, _ in running.values():
            assert what_it_may(container) == "65532 root:no data:yes tmp:yes"
        async with client_of(site) as client:
            answer = await client.ask("anything", budget_ms=20_000)
            assert answer.status is Status.REJECTED, "it has no corpus"
        drained = {name: stopped_in_time(container, deployments[name]) for name, (container, _) in running.items()}
        say("from SIGTERM to the end: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in drained.items()))
    finally:
        for container, _ in running.values():
            container.remove()
    log = (site.folder / "nats" / "nats-server.log").read_text(errors="replace")
    assert [line for line in log.splitlines() if "Violation" in line] == []


async def is_probed(deployment: Object, port: int) -> bool:
    """Each probe of the manifest answers; readiness last, as the kubelet waits for it."""
    (container,) = pod(deployment)["containers"]
    paths = [container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]

    for path in paths:
        await eventually(partial(answers, port, path), 150, 0.2)
    return True


async def answers(port: int, path: str) -> bool:
    return (await get_page(port, path))[0] == 200


def what_it_may(container: Container) -> str:
    """The user inside and where it can write."""
    return container.python(
        "import os, tempfile\n"
        "def may(folder):\n"
        "    try:\n"
        "        tempfile.TemporaryFile(dir=folder).close()\n"
        "        return 'yes'\n"
        "    except OSError:\n"
        "        return 'no'\n"
        "print(os.getuid(), f\"root:{may('/')}\", f\"data:{may('/data')}\", f\"tmp:{may('/tmp')}\", end='')"
    )


def client_of(site: Site) -> Client:
    """An application of the tenant that deploy/README.md adds."""
    access = Access(nkey=site.prod / "acme.nk", ca_file=site.folder / "ca.crt")
    return Client(site.server.url, "acme", principal=Principal(id="tester"), access=access)


def stopped_in_time(container: Container, deployment: Object) -> float:
    """Seconds from SIGTERM to the end, by itself and within the grace period."""
    grace_s = pod(deployment)["terminationGracePeriodSeconds"]
    began = time.monotonic()
    code = container.stop(grace_s)
    seconds = time.monotonic() - began
    assert code == 0, f"{container.name} after {seconds:.1f} s: {container.logs()[-2_000:]}"
    return seconds
