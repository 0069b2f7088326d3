"""What every container is: its image, its share of the node, its rights, its probes; those that run first too.

In: the objects of an overlay. Out: one line per fault, with the object and container that has it.
"""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fanfuse_contracts.permissions import SETUP
from tests.deploy.manifests import (
    COMMANDS,
    ENDING,
    PROCESS,
    SERVICES,
    WORKERS,
    WORKLOADS,
    Cluster,
    every_container,
    image,
    labels,
    name,
    own_labels,
    pod,
    quantity,
    runs_everything,
    speaks_to_engines,
    variables,
    where,
)

_FIXED: Final = re.compile(r"[^:@]+(:(?!latest$)[\w.-]+(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})")
_LEAST_MEMORY: Final = 2.0**20
_MEASURED: Final = Path(__file__).resolve().parents[2] / "deploy" / "sizing.json"
_BIG_NODE: Final = {"cpu": 64.0, "memory": 256 * 2.0**30}
"""More than that is a unit that was forgotten: no scheduler finds room for it."""


def images_are_fixed(cluster: Cluster) -> Iterator[str]:
    for each, container in cluster.containers():
        if not _FIXED.fullmatch(container.get("image", "").rsplit("/", 1)[-1]):
            yield f"{where(each, container)} runs {container.get('image')}: name a tag, not latest"
        if container.get("imagePullPolicy") == "Never":
            yield f"{where(each, container)} runs only where somebody put its image before"


def images_are_of_the_process(cluster: Cluster) -> Iterator[str]:
    """Image, user and labels speak of the same service: by the labels it is let through, by the user it is known."""
    for each, container in cluster.processes():
        runs, user = image(container), variables(container).get("FANFUSE_NATS_USER")
        if runs not in SERVICES:
            yield f"{where(each, container)} runs {runs}, which is no service"
            continue
        wanted = {WORKERS: str(user).startswith("WORKER-"), COMMANDS: user in (None, SETUP)}
        if not wanted.get(runs, user == runs.upper()):
            yield f"{where(each, container)} runs {runs} as the user {user}"
    for each, container in cluster.processes():
        kind = "setup" if each["kind"] in ENDING else "service"
        for which, found in (("its own", own_labels(each)), ("its pods'", labels(each))):
            if found.get(PROCESS) != kind:
                yield f"{name(each)} is {found.get(PROCESS)} by {which} labels: {PROCESS}={kind}"
        if speaks_to_engines(each) is not (image(container) == WORKERS or runs_everything(container)):
            yield f"{name(each)} has the label fanfuse.dev/engines wrong: it decides who gets the engines' passwords"


def images_are_of_one_version(cluster: Cluster) -> Iterator[str]:
    """Fanfuse's own together, and each other image: an apply brings one version, and the next one another.

    What is named by its digest alone says no version, and is fixed.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for each, container in cluster.containers():
        group = "fanfuse" if image(container) in SERVICES else image(container)
        last = container.get("image", "").rpartition("/")[2]
        if _FIXED.fullmatch(last) and f"{image(container)}@" not in last:
            version = last.removeprefix(image(container)).partition("@")[0]
            found.setdefault(group, {}).setdefault(version, []).append(where(each, container))
    for group, versions in found.items():
        usual = max(versions, key=lambda version: len(versions[version]))
        for version in versions.keys() - {usual}:
            for who in versions[version]:
                yield f"{who} runs {group}{version}, where others run {usual}"


def images_start_as_they_are_made_to(cluster: Cluster) -> Iterator[str]:
    """The entry point of a process's image is its service (deploy/docker/Dockerfile); only commands take words."""
    for each, container in cluster.processes():
        words, is_command = container.get("args", []), image(container) == COMMANDS
        if container.get("command") or (words and not is_command):
            yield f"{where(each, container)} starts {[*container.get('command', ()), *words]}, not its service"
        elif is_command and words[:1] != ["up"] and words[:2] != ["deploy", "setup"]:
            yield f"{where(each, container)} starts `fanfuse {' '.join(words)}`"


def resources_are_bounded(cluster: Cluster) -> Iterator[str]:
    """What a scheduler refuses (more wanted than allowed) and what kills at once (`512m` of memory is half a byte)."""
    for each, container in cluster.containers():
        stated = container.get("resources", {})
        for part in ("requests", "limits"):
            if not {"cpu", "memory"} <= stated.get(part, {}).keys():
                yield f"{where(each, container)} has no {part} of cpu and memory"
        requests, limits = stated.get("requests", {}), stated.get("limits", {})
        for what in sorted(requests.keys() & limits.keys()):
            if quantity(requests[what]) > quantity(limits[what]):
                yield f"{where(each, container)} requests {requests[what]} of {what}, over its limit {limits[what]}"
        for part in (requests, limits):
            if not (quantity(part.get("memory", "1Gi")) >= _LEAST_MEMORY and quantity(part.get("cpu", "1")) > 0):
                yield f"{where(each, container)} can't run with {part}"


def resources_are_of_their_size(cluster: Cluster) -> Iterator[str]:
    """Each process may have the memory that it was measured to take under load (docs/sizing.md), and fits on a node."""
    for each, container in (*cluster.processes(), *cluster.servers()):
        limit = container.get("resources", {}).get("limits", {}).get("memory", "1Gi")
        least = _memory().get(image(container), min(_memory().values()))
        if _LEAST_MEMORY <= quantity(limit) < least:
            yield f"{where(each, container)} is killed at {limit} of memory: it takes {least / 1e6:.0f} MB (sizing.md)"
    for each, container in cluster.containers():
        for part in ("requests", "limits"):
            for what, amount in container.get("resources", {}).get(part, {}).items():
                if quantity(amount) > _BIG_NODE.get(what, quantity(amount)):
                    yield f"{where(each, container)} has {part} of {amount} of {what}: no node has that"


@functools.cache
def _memory() -> dict[str, float]:
    """Bytes by the image. Commands were not measured by themselves: the least of all."""
    found = json.loads(_MEASURED.read_text(encoding="utf-8"))
    return {name: row["rss_mb"] * 1e6 for name, row in {**found["stages"], "nats": found["broker"]}.items()}


def pods_are_restricted(cluster: Cluster) -> Iterator[str]:
    """The Pod Security Standard `restricted`, and a root that can't be written."""
    for each in cluster.all(*WORKLOADS):
        context = pod(each).get("securityContext", {})
        if not (context.get("runAsNonRoot") and context.get("runAsUser") and context.get("seccompProfile")):
            yield f"{name(each)} may run as root, or without seccomp"
        if pod(each).get("automountServiceAccountToken") is not False:
            yield f"{name(each)} has a token of the cluster that it does not need"
        sources = [
            row for volume in pod(each).get("volumes", ()) for row in volume.get("projected", {}).get("sources", ())
        ]
        if any("serviceAccountToken" in row for row in sources):
            yield f"{name(each)} mounts a token of the cluster that it does not need"
    for each, container in cluster.containers():
        own = container.get("securityContext", {})
        dropped = own.get("capabilities", {}).get("drop") == ["ALL"]
        if own.get("allowPrivilegeEscalation") is not False or not own.get("readOnlyRootFilesystem") or not dropped:
            yield f"{where(each, container)} has rights it does not need"


_SHARED: Final = ("hostNetwork", "hostPID", "hostIPC")
_VOLUMES: Final = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip


def nothing_of_the_node_is_shared(cluster: Cluster) -> Iterator[str]:
    """What `restricted` forbids beyond the pod's own context; a container's context overrides it."""
    for each in cluster.all(*WORKLOADS):
        for field in _SHARED:
            if pod(each).get(field):
                yield f"{name(each)} shares the node's {field}: remove it"
        for volume in pod(each).get("volumes", ()):
            for source in sorted(volume.keys() - _VOLUMES - {"name"}):
                yield f"{name(each)} mounts {source} as {volume['name']}: use a claim or an emptyDir"
        yield from (f"{name(each)} {fault}" for fault in _context_faults(pod(each).get("securityContext", {})))
        for container in every_container(each):
            if any("hostPort" in port for port in container.get("ports", ())):
                yield f"{where(each, container)} takes a hostPort: use a Service"
            context = container.get("securityContext", {})
            yield from (f"{where(each, container)} {fault}" for fault in _context_faults(context))


def _context_faults(context: dict[str, Any]) -> Iterator[str]:
    if context.get("runAsUser") == 0 or context.get("runAsNonRoot") is False:
        yield "runs as root: remove runAsUser 0 and runAsNonRoot false"
    if context.get("privileged") or context.get("windowsOptions", {}).get("hostProcess"):
        yield "is privileged: remove it"
    if context.get("procMount", "Default") != "Default" or context.get("sysctls"):
        yield "changes the kernel's settings: remove procMount and sysctls"
    if added := set(context.get("capabilities", {}).get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"adds capabilities {sorted(added)}: remove them"
    for profile in ("seccompProfile", "appArmorProfile"):
        if context.get(profile, {}).get("type", "RuntimeDefault") not in ("RuntimeDefault", "Localhost"):
            yield f"runs without {profile}: use RuntimeDefault"


CONTAINERS: Final = (
    images_are_fixed,
    images_are_of_the_process,
    images_are_of_one_version,
    images_start_as_they_are_made_to,
    resources_are_bounded,
    resources_are_of_their_size,
    pods_are_restricted,
    nothing_of_the_node_is_shared,
)
