"""A pod of the manifests as a container of podman, as restricted as the manifest says.

In: a workload of a rendered overlay and the files of its volumes. Out: words of `podman run`. It leaves nothing out
that the kubelet would apply to a process: user, capabilities, read-only root, limits, environment, mounts.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.deploy.manifests import Object, pod

PODMAN: Final = shutil.which("podman")
_RUN_WITHIN_S: Final = 180.0
_UNITS: Final = {"Mi": "m", "Gi": "g"}


def podman(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run podman."""
    assert PODMAN is not None
    return subprocess.run([PODMAN, *words], capture_output=True, text=True, check=False, timeout=_RUN_WITHIN_S)


def missing_images(workloads: Iterable[Object]) -> list[str]:
    """Images that these need and podman does not have."""
    wanted = {container["image"] for each in workloads for container in pod(each)["containers"]}
    return sorted(image for image in wanted if podman("image", "exists", image).returncode)


def why_nothing_runs(image: str) -> str:
    """What podman says where it can run no container at all, whatever is in it; empty where it can."""
    done = podman("run", "--rm", "--network=host", "--entrypoint=/bin/true", image)
    return done.stderr.strip() if done.returncode else ""


def words_of(workload: Object, volumes: Mapping[str, Path], changed: Mapping[str, str]) -> list[str]:
    """Options, image and arguments. `volumes`: folder by name of the volume; `changed`: variables that differ here."""
    (container,) = pod(workload)["containers"]
    own = (*_restrictions(pod(workload), container), *_environment(container, changed))
    mounts = (_mount(mount, volumes[mount["name"]]) for mount in container["volumeMounts"])
    return [*own, *mounts, container["image"], *container.get("args", ())]


def _mount(mount: Mapping[str, Any], folder: Path) -> str:
    return f"--volume={folder}:{mount['mountPath']}:{'ro' if mount.get('readOnly') else 'rw'}"


def _restrictions(spec: Mapping[str, Any], container: Mapping[str, Any]) -> Iterator[str]:
    own, whole = container["securityContext"], spec["securityContext"]
    yield f"--user={whole['runAsUser']}:{whole['runAsGroup']}"
    yield from (f"--cap-drop={name}" for name in own["capabilities"]["drop"])
    if own["allowPrivilegeEscalation"] is False:
        yield "--security-opt=no-new-privileges"
    if own["readOnlyRootFilesystem"]:
        yield from ("--read-only", "--read-only-tmpfs=false")
    limits = container["resources"]["limits"]
    yield from (f"--cpus={limits['cpu']}", f"--memory={limits['memory'][:-2]}{_UNITS[limits['memory'][-2:]]}")


def _environment(container: Mapping[str, Any], changed: Mapping[str, str]) -> Iterator[str]:
    for row in container["env"]:
        yield f"--env={row['name']}={changed.get(row['name'], row['value'])}"


class Container:
    """A running container."""

    def __init__(self, name: str, words: Iterable[str]) -> None:
        self.name = name
        started = podman("run", "--detach", f"--name={name}", *words)
        assert started.returncode == 0, started.stderr

    def logs(self) -> str:
        """What it wrote."""
        done = podman("logs", self.name)
        return done.stdout + done.stderr

    def python(self, code: str) -> str:
        """What a program prints that runs inside, as the container's user."""
        done = podman("exec", self.name, "python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self, grace_s: int) -> int:
        """SIGTERM; the exit code (137: it had to be killed when the time was over)."""
        stopped = podman("stop", f"--time={grace_s}", self.name)
        assert stopped.returncode == 0, stopped.stderr
        (state,) = json.loads(podman("inspect", self.name).stdout)
        code: int = state["State"]["ExitCode"]
        return code

    def remove(self) -> None:
        """Nothing stays."""
        podman("rm", "--force", "--time=0", self.name)
