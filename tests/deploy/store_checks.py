"""Servers of the bus and what they store: copies, disk, memory, names, and that what changes is read again.

In: the objects of an overlay, nats.conf among them. Out: one line per fault, with the object that has it.
"""

import re
from collections.abc import Iterator
from typing import Final

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT
from fanfuse_contracts import limits, streams
from fanfuse_contracts.streams import Storage
from tests.deploy.manifests import (
    PROCESS,
    Cluster,
    Object,
    creates,
    every_container,
    name,
    own_labels,
    pod,
    quantity,
    variables,
    where,
)
from tests.deploy.mounts import sources_of, volumes
from tests.deploy.nats_conf import bytes_of, lines_of, stated

_PAYLOAD: Final = 2.0**20
"""What nats-server takes where nothing is stated."""
_VARIABLE: Final = re.compile(r"[:= ]\$(\w+)[,;]?\s*$", re.MULTILINE)
"""Without quotes: in them it is plain text."""
_SERVER_NAME: Final = re.compile(r"^\s*server_name\s*[:= ]\s*(\S+)", re.MULTILINE)


def servers_read_their_configuration(cluster: Cluster) -> Iterator[str]:
    """Without arguments the image starts with a configuration of its own: no users, no cluster, nothing stored."""
    for each, container in cluster.servers():
        words = [*container.get("command", ()), *container.get("args", ())]
        if words[:-1] not in (["--config"], ["-c"]) or not words[-1].endswith("/nats.conf"):
            yield f"{where(each, container)} does not start with nats.conf alone: {words}"


def copies_are_as_many_as_servers(cluster: Cluster) -> Iterator[str]:
    """Whoever creates a stream states its copies; one copy in a cluster goes with its server."""
    servers = max((each["spec"].get("replicas", 1) for each, _ in cluster.servers()), default=1)
    for each, container in cluster.processes():
        copies = variables(container).get("FANFUSE_STREAM_REPLICAS", "1")
        if PROCESS in own_labels(each) and creates(each, container) != "nothing" and copies != str(servers):
            yield f"{where(each, container)} creates streams with {copies} copies on {servers} servers"


def what_changes_is_read_again(cluster: Cluster) -> Iterator[str]:
    """The reloader sees each file that the server reads, and the server itself."""
    for each, server in cluster.servers():
        seen = [one for one in pod(each)["containers"][1:] if one["name"] == "reloader"]
        mounts = {mount["mountPath"] for one in seen for mount in one.get("volumeMounts", ())}
        stored = stated(cluster, "nats.conf", "store_dir")
        wanted = {mount["mountPath"] for mount in server.get("volumeMounts", ())} - {stored}
        if not pod(each).get("shareProcessNamespace"):
            yield f"{name(each)} does not read its configuration again: shareProcessNamespace is off, nobody signals it"
        if mounts != wanted:
            yield f"{name(each)} does not read its configuration again: the reloader mounts other than {sorted(wanted)}"
        started = [[*one.get("command", ()), *one.get("args", ())][:2] for one in seen]
        if [(command[:1], command[1:]) for command in started] != [(["/bin/sh"], ["/etc/nats/reload.sh"])]:
            yield f"{name(each)} has nobody who runs reload.sh: {started}"
        watched = {word for one in seen for word in one.get("args", ())}
        if unwatched := {path for path in wanted if path.startswith("/etc/")} - watched:
            yield f"{name(each)} keeps what changed in {sorted(unwatched)}"
        if stated(cluster, "nats.conf", "pid_file") not in watched:
            yield f"{name(each)} is not told of changes: the reloader looks for another pid file"


def what_changes_comes_into_the_pod(cluster: Cluster) -> Iterator[str]:
    """The kubelet brings a changed ConfigMap or Secret, but not to a part of it that is mounted alone."""
    for each in cluster.all("StatefulSet"):
        rows = [row for one in every_container(each) for row in one.get("volumeMounts", ())]
        for row in rows:
            if "subPath" in row and sources_of(volumes(each).get(row["name"], {})):
                yield f"{name(each)} never sees a change of {row['mountPath']}: mount the whole volume"
    for config in cluster.all("ConfigMap"):
        if config.get("immutable") and "nats.conf" in config.get("data", {}):
            yield f"{name(config)} is immutable: users can't be changed"


def servers_have_names(cluster: Cluster) -> Iterator[str]:
    """Two servers of one name are one to the cluster. What the configuration takes from the environment is there."""
    for each, container in cluster.servers():
        rows = {row["name"]: row for row in container.get("env", ())}
        read = set(_VARIABLE.findall(lines_of(cluster, "nats.conf")))
        yield from (
            f"{where(each, container)} lacks {one}, which nats.conf reads" for one in sorted(read - rows.keys())
        )
        called = "".join(_SERVER_NAME.findall(lines_of(cluster, "nats.conf")))
        named: Object = rows.get(called.strip("$,;"), {}) if called.startswith("$") else {"value": called}
        field = named.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        if each["spec"].get("replicas", 1) > 1 and called and named and field != "metadata.name":
            yield f"{where(each, container)} has one name for all servers, {called}: take metadata.name"


def servers_form_one_closed_cluster(cluster: Cluster) -> Iterator[str]:
    """Several servers share a name, and with TLS show each other who they are: or anybody in reach joins them."""
    several = any(each["spec"].get("replicas", 1) > 1 for each, _ in cluster.servers())
    wanted = [("nats.conf", "server_name"), ("cluster.conf", "name"), ("cluster.conf", "listen")] if several else []
    if stated(cluster, "tls.conf", "cert_file") or stated(cluster, "tls.conf", "key_file"):
        wanted += [("tls.conf", key) for key in ("cert_file", "key_file", "min_version")]
        wanted += (
            [("routes-tls.conf", key) for key in ("cert_file", "key_file", "ca_file", "verify")] if several else []
        )
    for file, key in wanted:
        if stated(cluster, file, key) in ("", "false"):
            yield f"{file} does not state {key}, which servers need"


def services_have_their_account(cluster: Cluster) -> Iterator[str]:
    """Streams are in it, and whoever reads their consumers by name looks there."""
    found = re.search(rf'^\s*"?{ACCOUNT}"?:\s*\{{(.*)', lines_of(cluster, "users.conf"), re.MULTILINE | re.DOTALL)
    if found is None or not re.search(r'jetstream"?:\s*"?enabled', found[1]):
        yield f"users.conf has no account {ACCOUNT} with JetStream"


def stores_fit_their_disk_and_memory(cluster: Cluster) -> Iterator[str]:
    """A server that may store more than it has ends in the middle of a write."""
    on_disk, in_memory = bytes_of(cluster, "max_file_store"), bytes_of(cluster, "max_memory_store")
    for each, container in cluster.servers():
        disk = sum(_size(claim) for claim in each["spec"].get("volumeClaimTemplates", ()))
        if not 0 < on_disk < disk:
            yield f"{where(each, container)} may store {on_disk:g} B on a disk of {disk:g} B"
        limit = quantity(container.get("resources", {}).get("limits", {}).get("memory", 0))
        collects = quantity(variables(container).get("GOMEMLIMIT", limit))
        if not 0 < in_memory < collects:
            yield f"{where(each, container)} may store {in_memory:g} B in memory, but may use only {collects:g}"
        if limit and collects >= limit:
            yield f"{where(each, container)} is killed at {limit:g} B, before it collects garbage at {collects:g}"


def servers_take_what_contracts_send(cluster: Cluster) -> Iterator[str]:
    """Room for every stream at its limit, and for the largest answer: or it is refused when it matters."""
    for storage, key in ((Storage.MEMORY, "max_memory_store"), (Storage.FILE, "max_file_store")):
        needed = sum(stream.max_bytes or 0 for stream in streams.STREAMS if stream.storage is storage)
        needed += sum(bucket.max_bytes for bucket in streams.BUCKETS) if storage is Storage.FILE else 0
        if 0 < bytes_of(cluster, key) < needed:
            yield f"nats.conf has {key} for {bytes_of(cluster, key):g} B: streams may hold {needed:g} B"
    payload = bytes_of(cluster, "max_payload") or _PAYLOAD
    if payload <= limits.MAX_ANSWER_BYTES:
        yield f"nats.conf has max_payload for {payload:g} B: an answer has up to {limits.MAX_ANSWER_BYTES} B"


def _size(claim: Object) -> float:
    return quantity(claim["spec"]["resources"]["requests"]["storage"])


def streams_outlive_their_servers(cluster: Cluster) -> Iterator[str]:
    """Every copy has a disk of its own, which is there when its server comes back."""
    for each, _ in cluster.servers():
        kept = each["spec"].get("persistentVolumeClaimRetentionPolicy", {})
        if "Delete" in kept.values():
            yield f"{name(each)} deletes what it stored: {kept}"
        for claim in each["spec"].get("volumeClaimTemplates", ()):
            if claim["spec"].get("accessModes") not in (["ReadWriteOnce"], ["ReadWriteOncePod"]):
                yield f"{name(each)} shares its disk {claim['metadata']['name']}: {claim['spec'].get('accessModes')}"


STORES: Final = (
    servers_read_their_configuration,
    copies_are_as_many_as_servers,
    what_changes_is_read_again,
    what_changes_comes_into_the_pod,
    servers_have_names,
    servers_form_one_closed_cluster,
    services_have_their_account,
    stores_fit_their_disk_and_memory,
    servers_take_what_contracts_send,
    streams_outlive_their_servers,
)
