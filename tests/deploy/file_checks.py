"""Files and what they come from: volumes, claims, ConfigMaps, Secrets, and every path that a container is told.

In: the objects of an overlay, and the Secrets that deploy/README.md has the operator create. Out: one line per fault.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tests.deploy.manifests import (
    ENDING,
    WORKLOADS,
    Cluster,
    Object,
    every_container,
    name,
    pod,
    quantity,
    runs_everything,
    variables,
    where,
)
from tests.deploy.mounts import is_of_variables, keys_of, mount_at, mounts, references, sources_of, volumes
from tests.deploy.nats_conf import lines_of, stated

_LEAST_SCRATCH: Final = 64 * 2.0**20
_GROUP_READS: Final = 0o040
"""The pod's group (fsGroup) owns the files."""
_CONF: Final = ("nats.conf", "cluster.conf", "tls.conf", "routes-tls.conf")
_PATH: Final = re.compile(r'"(/[^"\s]+)"')
_CLUSTERED: Final = re.compile(r"^\s*cluster\s*\{", re.MULTILINE)
_INCLUDED: Final = re.compile(r"^\s*include\s+\./(\S+)", re.MULTILINE)


def volumes_are_there_and_used(cluster: Cluster) -> Iterator[str]:
    """One that nobody mounts is a file that somebody misses, or a disk that nobody writes to."""
    for each in cluster.all(*WORKLOADS):
        there = volumes(each)
        mounted = {row["name"] for container in every_container(each) for row in container.get("volumeMounts", ())}
        for unused in sorted(there.keys() - mounted):
            yield f"{name(each)} has the volume {unused}, which no container mounts"
        for container in every_container(each):
            for missing in sorted({row["name"] for row in container.get("volumeMounts", ())} - there.keys()):
                yield f"{where(each, container)} mounts {missing}, which is no volume"
            paths = Counter(row["mountPath"].rstrip("/") for row in container.get("volumeMounts", ()))
            yield from (f"{where(each, container)} has two mounts at {path}" for path in paths if paths[path] > 1)
        for volume in there.values():
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            if claim:
                yield from _claim_faults(cluster, each, claim)


def _claim_faults(cluster: Cluster, each: Object, claim: str) -> Iterator[str]:
    found = cluster.get("PersistentVolumeClaim", claim)
    if found is None:
        yield f"{name(each)} uses the claim {claim}, which does not exist"
    elif found["spec"]["accessModes"] != ["ReadWriteMany"] and (
        each["spec"].get("replicas", 1) > 1 or each["spec"].get("strategy", {}).get("type") != "Recreate"
    ):
        yield f"{name(each)} has two pods on the claim {claim}, which one node may hold: Recreate, one replica"


def references_exist(cluster: Cluster) -> Iterator[str]:
    """Whether it is optional or not: an optional one that is misspelt is never missed."""
    for each in cluster.all(*WORKLOADS):
        wanted = [(where(each, one), *read) for one in every_container(each) for read in references(one)]
        for volume in volumes(each).values():
            for source in sources_of(volume):
                keys = [key for key, _ in source.items or ()] + _sub_paths(each, volume, source.items)
                wanted += [(name(each), source.kind, source.name, key) for key in keys or [None]]
        for who, kind, ref, key in wanted:
            keys_there = keys_of(cluster, kind, ref)
            if keys_there is None:
                yield f"{who} reads {kind}/{ref}, which nobody creates"
            elif key is not None and key not in keys_there and not is_of_variables(ref):
                yield f"{who} reads {key} of {kind}/{ref}, which has {sorted(keys_there)}"


def _sub_paths(each: Object, volume: Object, items: Any) -> list[Any]:
    """Files of a volume that are mounted alone; with `items` they are named by their path, which the mount looks up."""
    rows = [row for container in every_container(each) for row in container.get("volumeMounts", ())]
    subs = [row["subPath"] for row in rows if row["name"] == volume.get("name") and "subPath" in row]
    paths = {path for _, path in items or ()}
    return [sub for sub in subs if sub not in paths]


def files_named_are_there(cluster: Cluster) -> Iterator[str]:
    """Each path of the environment, the arguments and hooks, and for a server those of its configuration."""
    for each, container in cluster.containers():
        for path in sorted(set(_paths(container))):
            mount = mount_at(cluster, each, container, path)
            made = path in (f"{mount.path}" if mount else "", stated(cluster, "nats.conf", "pid_file"))
            if mount is None or not mount.holds(path) or not (mount.sources or made):
                yield f"{where(each, container)} is told of {path}, which it has not"
    for each, container in cluster.servers():
        for path in sorted({path for file in _CONF for path in _PATH.findall(lines_of(cluster, file))}):
            mount = mount_at(cluster, each, container, path)
            if mount is None or not mount.holds(path) or not (mount.sources or mount.writable):
                yield f"{where(each, container)} is told of {path} by its configuration, which it has not"


def _paths(container: Object) -> Iterator[str]:
    hooks = container.get("lifecycle", {})
    asked = (*hooks.values(), *(value for key, value in container.items() if key.endswith("Probe")))
    commands = (one.get("exec", {}).get("command", ()) for one in asked if isinstance(one, dict))
    words = (*container.get("args", ()), *(word for command in commands for word in command[1:]))
    told = (value for key, value in variables(container).items() if key != "FANFUSE_DATA_DIR")
    for text in (*told, *(word.rpartition("=")[2] for word in words)):
        if text.startswith("/"):
            yield text


def configuration_is_whole(cluster: Cluster) -> Iterator[str]:
    """Files that nats.conf includes stand beside it, and what is there is included: users nobody reads are none."""
    for each in cluster.all("ConfigMap"):
        data = each.get("data", {})
        if "nats.conf" not in data:
            continue
        named = {key: set(_INCLUDED.findall(text)) for key, text in data.items() if key.endswith(".conf")}
        for key, included in sorted(named.items()):
            yield from (f"{name(each)} includes {one} in {key}, which it has not" for one in included - data.keys())
        lone = set() if _CLUSTERED.search(data.get("cluster.conf", "")) else {"routes-tls.conf"}
        for unread in sorted(named.keys() - {"nats.conf"} - set().union(*named.values()) - lone):
            yield f"{name(each)} has {unread}, which no file includes"


def files_can_be_read(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all(*WORKLOADS):
        for volume, source in ((key, one) for key, found in volumes(each).items() for one in sources_of(found)):
            if any(not mode & _GROUP_READS for mode in source.modes):
                yield f"{name(each)} can't read {volume} ({source.kind}/{source.name}): the mode keeps its group out"


def what_is_written_can_be_written(cluster: Cluster) -> Iterator[str]:
    """The root is read-only. What a server stores, or a process that holds the engines, must outlive its pod."""
    for each, container in cluster.processes():
        folder = variables(container).get("FANFUSE_DATA_DIR")
        mount = mount_at(cluster, each, container, folder) if folder else None
        if each["kind"] in ENDING:
            continue
        if mount is None or not mount.writable or (runs_everything(container) and not mount.lasting):
            yield f"{where(each, container)} can't write to FANFUSE_DATA_DIR {folder}, or not what must last"
        scratch = mount_at(cluster, each, container, "/tmp")
        if scratch is None or not scratch.writable:
            yield f"{where(each, container)} can't write to /tmp, which is its home"
    for each, container in cluster.servers():
        for key, lasting in (("store_dir", True), ("pid_file", False)):
            mount = mount_at(cluster, each, container, stated(cluster, "nats.conf", key))
            if mount is None or not mount.writable or mount.lasting is not lasting:
                yield f"{where(each, container)} has no {'disk' if lasting else 'folder'} for its {key}"


def volumes_take_what_is_written(cluster: Cluster) -> Iterator[str]:
    """One in memory counts against the container's limit; a pod that writes more than a small one takes is evicted; and
    a disk is root's until a group gets it."""
    for each in cluster.all(*WORKLOADS):
        for volume in pod(each).get("volumes", ()):
            scratch = volume.get("emptyDir") or {}
            if scratch.get("medium") == "Memory" or quantity(scratch.get("sizeLimit", "1Gi")) < _LEAST_SCRATCH:
                yield f"{name(each)} is ended for what it writes to {volume['name']}: no medium, and room for it"
    for each, container in cluster.containers():
        grouped = pod(each).get("securityContext", {}).get("fsGroup")
        if any(mount.lasting and mount.writable for mount in mounts(cluster, each, container)) and not grouped:
            yield f"{where(each, container)} has a disk that belongs to root: state fsGroup"


FILES: Final = (
    volumes_are_there_and_used,
    references_exist,
    files_named_are_there,
    configuration_is_whole,
    files_can_be_read,
    what_is_written_can_be_written,
    volumes_take_what_is_written,
)
