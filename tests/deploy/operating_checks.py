"""What every cluster accepts and what hurts at night: probes, copies, passwords, certificates; and all checks together.

In: the objects of an overlay. Out: one line per fault.
"""

from collections.abc import Iterator
from typing import Final

from tests.deploy.boundary_checks import BOUNDARIES
from tests.deploy.cross_checks import FITTING, GIVEN, KEPT, Cluster, containers, name, pod

_PROBE_S: Final = 5


def faults(cluster: Cluster) -> list[str]:
    """Every fault of every check."""
    return [f"{check.__name__}: {fault}" for check in CHECKS for fault in check(cluster)]


def probes_are_there_and_have_time(cluster: Cluster) -> Iterator[str]:
    """The default of one second restarts what is only busy. The reloader serves nobody and ends by itself."""
    kept = [
        (each, found) for each, found in containers(cluster) if each["kind"] in KEPT and found["name"] != "reloader"
    ]
    for each, container in kept:
        for missing in sorted({"startupProbe", "livenessProbe", "readinessProbe"} - container.keys()):
            yield f"{name(each)} has no {missing}"
    for each, container in containers(cluster):
        for key, probe in container.items():
            if key.endswith("Probe") and probe.get("timeoutSeconds", 1) < _PROBE_S and key != "startupProbe":
                yield f"{name(each)} has {probe.get('timeoutSeconds', 1)} s for its {key}"


def servers_are_caught_up_before_the_next_one_goes(cluster: Cluster) -> Iterator[str]:
    """Only `/healthz` without conditions looks at every stream."""
    for each in cluster.all("StatefulSet"):
        asked = {container["startupProbe"]["httpGet"]["path"] for container in pod(each)["containers"]
                 if "startupProbe" in container}  # fmt: skip
        if asked != {"/healthz"}:
            yield f"{name(each)} counts as started before its streams are caught up"


def copies_are_as_many_as_servers(cluster: Cluster) -> Iterator[str]:
    """Whoever creates a stream states its copies; one copy in a cluster goes with its server."""
    servers = max((each["spec"]["replicas"] for each in cluster.all("StatefulSet")), default=1)
    for each in cluster.all("Deployment", "Job"):
        if each["metadata"]["labels"].get("fanfuse.dev/process") not in ("service", "setup"):
            continue
        stated = {row["name"]: row.get("value") for c in pod(each)["containers"] for row in c["env"]}
        copies = int(stated.get("FANFUSE_STREAM_REPLICAS") or 1)
        if stated.get("FANFUSE_CREATES", "all") != "nothing" and copies != servers:
            yield f"{name(each)} creates streams with {copies} copies on {servers} servers"


def engines_are_known_to_who_speaks_to_them(cluster: Cluster) -> Iterator[str]:
    """Their passwords are in the environment of a process that has a policy for their egress, and of no other."""
    for each, container in containers(cluster):
        given = {row["secretRef"]["name"] for row in container.get("envFrom", ())}
        for missing in sorted(secret for secret in given if not GIVEN.fullmatch(secret)):
            yield f"{name(each)} reads Secret {missing}, which nobody creates"
        speaks = each["metadata"]["labels"].get("fanfuse.dev/engines") == "speaks"
        if ("fanfuse-engines" in given) is not speaks:
            yield f"{name(each)} {'lacks' if speaks else 'has'} the passwords of the engines"


def a_pod_waits_for_its_key(cluster: Cluster) -> Iterator[str]:
    """Without the Secret the kubelet says what is missing; a process without its file only ends again and again."""
    for each, container in containers(cluster):
        keyed = any(row["name"] == "FANFUSE_NATS_NKEY" for row in container.get("env", ()))
        volumes = {volume["name"]: volume for volume in pod(each).get("volumes", ())}
        if keyed and volumes.get("nats-user", {}).get("secret", {}).get("optional"):
            yield f"{name(each)} starts without its key"


def what_changes_is_read_again(cluster: Cluster) -> Iterator[str]:
    """The reloader sees each file that the server reads, and the server itself."""
    for each in cluster.all("StatefulSet"):
        server, *others = pod(each)["containers"]
        seen = [c for c in others if c["name"] == "reloader"]
        mounts = {mount["mountPath"] for c in seen for mount in c["volumeMounts"]}
        wanted = {mount["mountPath"] for mount in server["volumeMounts"]} - {"/data"}
        if not pod(each).get("shareProcessNamespace") or mounts != wanted:
            yield f"{name(each)} does not read its configuration again: {sorted(wanted - mounts)}"
        watched = {word for c in seen for word in c["args"]}
        if unwatched := {path for path in wanted if path.startswith("/etc/")} - watched:
            yield f"{name(each)} keeps what changed in {sorted(unwatched)}"


CHECKS: Final = (
    *FITTING,
    *BOUNDARIES,
    probes_are_there_and_have_time,
    servers_are_caught_up_before_the_next_one_goes,
    copies_are_as_many_as_servers,
    engines_are_known_to_who_speaks_to_them,
    a_pod_waits_for_its_key,
    what_changes_is_read_again,
)
