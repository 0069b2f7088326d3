"""What a pod may reach and what it may do to its node: egress, the standard `restricted`, namespaces, users' keys.

In: the objects of an overlay. Out: one line per fault, with what to do. Never looks at a running cluster.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tests.deploy.cross_checks import WORKLOADS, Cluster, Object, labels, matches, name, pod

_CLUSTER_WIDE: Final = ("Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")
_DNS: Final = {"k8s-app": "kube-dns"}
_ENGINE: Final = re.compile(r"://[^\s/]+:\d+")
_BUS: Final = {"app.kubernetes.io/name": "nats"}


def egress_is_what_a_pod_needs(cluster: Cluster) -> Iterator[str]:
    """DNS for all, the bus for processes, engines for who speaks to them; nothing else."""
    for each in cluster.all(*WORKLOADS):
        wanted = {"dns"} | ({"bus"} if "fanfuse.dev/process" in labels(each) else set())
        speaks = each["metadata"]["labels"].get("fanfuse.dev/engines") == "speaks"
        wanted |= {"engines"} if speaks and _ENGINE.search(_configured(cluster)) else set()
        reached: set[str] = set()
        for policy in cluster.all("NetworkPolicy"):
            if not matches(policy["spec"]["podSelector"], labels(each)):
                continue
            for rule in policy["spec"].get("egress", ()):
                peers = _reached(cluster, rule)
                reached |= peers
                for much in sorted(peers - wanted - ({"servers"} if _BUS.items() <= labels(each).items() else set())):
                    yield f"{name(policy)} lets {name(each)} reach {much}: name the peer and port that it needs"
        for missing in sorted(wanted - reached):
            yield f"{name(each)} cannot reach {missing}: add an egress rule with its peer and port"


def _reached(cluster: Cluster, rule: dict[str, Any]) -> set[str]:
    """What a rule opens, by name; `everything` where it states no peer or no port."""
    ports = {row.get("port") for row in rule.get("ports", ())}
    if not rule.get("to") or not ports or None in ports or any("endPort" in row for row in rule["ports"]):
        return {"everything"}
    return {_peer(cluster, peer, port) for peer in rule["to"] for port in ports}


def _peer(cluster: Cluster, peer: dict[str, Any], port: Any) -> str:
    pods = peer.get("podSelector", {}).get("matchLabels")
    if pods == _DNS and peer.get("namespaceSelector") and port == 53:
        return "dns"
    if pods == _BUS and "namespaceSelector" not in peer and port in ("client", "cluster"):
        return "bus" if port == "client" else "servers"
    if (
        peer.get("namespaceSelector")
        and isinstance(port, int)
        and re.search(rf"://[^\s/]+:{port}\b", _configured(cluster))
    ):
        return "engines"
    return f"an unknown peer at port {port}"


def _configured(cluster: Cluster) -> str:
    """The processes' configuration; embedded engines have no address in it."""
    texts = (text for each in cluster.all("ConfigMap") for text in each["data"].items())
    lines = (line for key, text in texts if key == "fanfuse.yaml" for line in text.splitlines())
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def nothing_of_the_node_is_shared(cluster: Cluster) -> Iterator[str]:
    """What `restricted` forbids beyond the pod's own context; a container's context overrides it."""
    for each in cluster.all(*WORKLOADS):
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if pod(each).get(field):
                yield f"{name(each)} shares the node's {field}: remove it"
        for volume in pod(each).get("volumes", ()):
            if "hostPath" in volume:
                yield f"{name(each)} mounts hostPath {volume['hostPath']['path']}: use a claim or an emptyDir"
        contexts = [("pod", {"seccompProfile": pod(each).get("securityContext", {}).get("seccompProfile", {})})]
        for container in every_container(each):
            contexts.append((container["name"], container.get("securityContext", {})))
            if any("hostPort" in port for port in container.get("ports", ())):
                yield f"{name(each)} container {container['name']} takes a hostPort: use a Service"
        for where, context in contexts:
            yield from (f"{name(each)} {where} {fault}" for fault in _context_faults(context))


def every_container(workload: Object) -> list[dict[str, Any]]:
    keys = ("containers", "initContainers", "ephemeralContainers")
    return [container for key in keys for container in pod(workload).get(key, ())]


def _context_faults(context: dict[str, Any]) -> Iterator[str]:
    if context.get("runAsUser") == 0 or context.get("runAsNonRoot") is False:
        yield "runs as root: remove runAsUser 0 and runAsNonRoot false"
    if context.get("privileged"):
        yield "is privileged: remove it"
    if added := set(context.get("capabilities", {}).get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"adds capabilities {sorted(added)}: remove them"
    if context.get("seccompProfile", {}).get("type", "RuntimeDefault") not in ("RuntimeDefault", "Localhost"):
        yield "runs without seccomp: use RuntimeDefault"


def objects_stand_once_in_one_namespace(cluster: Cluster) -> Iterator[str]:
    spaces = [each["metadata"]["name"] for each in cluster.all("Namespace")]
    if len(spaces) != 1:
        yield f"the namespaces are {spaces}: state exactly one"
        return
    (expected,) = spaces
    stated = [each for each in cluster.objects if each["kind"] not in _CLUSTER_WIDE]
    for each in stated:
        if (found := each["metadata"].get("namespace")) != expected:
            yield f"{name(each)} stands in {found}: put it into {expected}"
    for twice in sorted(which for which, count in Counter(map(name, cluster.objects)).items() if count > 1):
        yield f"{twice} is stated more than once: keep one"


def keys_are_of_the_process(cluster: Cluster) -> Iterator[str]:
    """The Secret of a user is named as the user that the process says it is."""
    for each in cluster.all(*WORKLOADS):
        stated = [row for container in pod(each)["containers"] for row in container.get("env", ())]
        users = {row.get("value") for row in stated if row["name"] == "FANFUSE_NATS_USER"}
        given = {v["secret"]["secretName"] for v in pod(each).get("volumes", ()) if v["name"] == "nats-user"}
        wanted = {f"nats-{user.lower()}" for user in users or {each["metadata"]["name"]} if user}
        if given and given != wanted:
            yield f"{name(each)} has the key {sorted(given)}: its user's is {sorted(wanted)}"


BOUNDARIES: Final = (
    egress_is_what_a_pod_needs,
    nothing_of_the_node_is_shared,
    objects_stand_once_in_one_namespace,
    keys_are_of_the_process,
)
