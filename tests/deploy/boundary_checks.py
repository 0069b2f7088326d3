"""What a pod may reach, who may reach it, and what it may do in the cluster. All else is denied.

In: the objects of an overlay, fanfuse.yaml among them. Out: one line per fault, with what to do. Never looks at a
running cluster.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fanfuse_all_in_one.deploying.egress import egress_of
from tests.deploy.manifests import (
    ENDING,
    TRACES,
    WORKLOADS,
    Cluster,
    Object,
    is_process,
    labels,
    matches,
    name,
    pod,
    pools_served,
    port_number,
    runs_everything,
    variables,
)
from tests.deploy.traffic import ANYWHERE, Flow, opened, passed, place_of

_CLUSTER_WIDE: Final = ("Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")
_DNS: Final = "pods {'matchLabels': {'k8s-app': 'kube-dns'}} of namespace kube-system"
_POSTGRES: Final = "5432/TCP"
_TENANTS: Final = "namespaces with {'fanfuse.dev/tenants': 'true'}"
_RIGHTS: Final = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
_KNOWN: Final = {
    *WORKLOADS,
    *_RIGHTS,
    *("ConfigMap", "Namespace", "NetworkPolicy", "PersistentVolumeClaim", "PodDisruptionBudget", "PodMonitor"),
    *("PriorityClass", "PrometheusRule", "RuntimeClass", "ScaledObject", "Service", "ServiceAccount", "StorageClass"),
    *("TriggerAuthentication", "HorizontalPodAutoscaler", "VerticalPodAutoscaler", "Secret", "Ingress", "Gateway"),
}
_NODE_LABELS: Final = {
    *("kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/hostname", "node.kubernetes.io/instance-type"),
    *("topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
}
"""Those that every kubelet or cloud sets (Kubernetes: well-known labels)."""
_DISK_CLASS: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_OF_KUBERNETES: Final = ("system-cluster-critical", "system-node-critical")


def guarded_by_a_policy(cluster: Cluster) -> Iterator[str]:
    """A policy of its own, beside the one for everybody."""
    for each in cluster.all(*WORKLOADS):
        selectors = (policy["spec"]["podSelector"] for policy in cluster.all("NetworkPolicy"))
        if not any(selector and matches(selector, labels(each)) for selector in selectors):
            yield f"{name(each)} has no network policy"
    denied = (policy["spec"] for policy in cluster.all("NetworkPolicy") if not policy["spec"]["podSelector"])
    if not any(
        set(spec.get("policyTypes", ())) == {"Ingress", "Egress"} and not spec.get("egress") and not spec.get("ingress")
        for spec in denied
    ):
        yield "NetworkPolicy: nothing is denied by default"


def egress_is_what_a_pod_needs(cluster: Cluster) -> Iterator[str]:
    """DNS for all, the bus for processes, for a worker the engines of its pools alone; traces where they are stated."""
    for each in cluster.all(*WORKLOADS):
        wanted = {(_DNS, "53/UDP"), (_DNS, "53/TCP"), *_reached_on_the_bus(cluster, each), *_engines(cluster, each)}
        wanted |= {place_of(url) for key, url in variables(pod(each)["containers"][0]).items() if key in TRACES}
        found = passed(cluster, each, "Egress")
        yield from _compared(each, found, wanted, _registry(each, found), "reach")


def _registry(each: Object, found: Iterable[Flow]) -> set[Flow]:
    """A database in one place that processes may reach: its address is in a Secret, which nobody sees here."""
    places = ((peer, port) for peer, port in found if peer.startswith("namespace ") or peer.endswith(("/32", "/128")))
    return {flow for flow in places if flow[1] == _POSTGRES} if is_process(each) else set()


def _reached_on_the_bus(cluster: Cluster, each: Object) -> set[Flow]:
    servers = list(cluster.servers())
    if is_process(each):
        return {(name(server), f"{port_number([one], 'client')}/TCP") for server, one in servers}
    return {(name(server), f"{port_number([one], 'cluster')}/TCP") for server, one in servers if server is each}


def _engines(cluster: Cluster, each: Object) -> set[Flow]:
    """Of the pools that it serves, as far as the operator's file tells; embedded engines have no address."""
    if not is_process(each):
        return set()
    container = pod(each)["containers"][0]
    served = list(cluster.pools) if runs_everything(container) else pools_served(container)
    rules = [
        rule for text in served if text in cluster.pools for rule in egress_of(cluster.pools[text], cluster.config)
    ]
    return {
        (f"namespace {rule.namespace}" if rule.namespace else rule.address or ANYWHERE, f"{rule.port}/TCP")
        for rule in rules
    }


def ingress_is_what_a_pod_serves(cluster: Cluster) -> Iterator[str]:
    """The bus: processes and tenants at its client port, servers each other, KEDA, monitoring. Processes: that too."""
    scraped = any(cluster.all("PodMonitor"))
    for each in cluster.all(*WORKLOADS):
        allowed = {("namespace monitoring", f"{port_number(pod(each)['containers'], 'ops')}/TCP")}
        wanted = allowed if scraped and is_process(each) and each["kind"] not in ENDING else set()
        for server, container in cluster.servers():
            if server is each:
                wanted, allowed = _served_by_the_bus(cluster, server, container)
        yield from _compared(each, passed(cluster, each, "Ingress"), wanted, allowed, "be reached by")


def _served_by_the_bus(cluster: Cluster, server: Object, container: Object) -> tuple[set[Flow], set[Flow]]:
    """What it must let in, and what it may."""
    client, routes, monitor = (f"{port_number([container], port)}/TCP" for port in ("client", "cluster", "monitor"))
    wanted = {*((name(each), client) for each, _ in cluster.processes()), (name(server), routes), (_TENANTS, client)}
    keda = ("namespace keda", monitor)
    return wanted | ({keda} if any(cluster.all("ScaledObject")) else set()), {keda, ("namespace monitoring", monitor)}


def _compared(each: Object, found: dict[Flow, str], wanted: set[Flow], allowed: set[Flow], verb: str) -> Iterator[str]:
    for peer, port in sorted(found.keys() - wanted - allowed):
        yield f"{found[peer, port]} lets {name(each)} {verb} {peer} at {port}: nothing needs that"
    for peer, port in sorted(flow for flow in wanted - found.keys() if not opened(found, flow)):
        yield f"{name(each)} cannot {verb} {peer} at {port}: no policy of it lets that pass"


def objects_stand_once_in_one_namespace(cluster: Cluster) -> Iterator[str]:
    """The namespace enforces what the pods keep to: without it the next one need not."""
    spaces = [each["metadata"]["name"] for each in cluster.all("Namespace")]
    if len(spaces) != 1:
        yield f"the namespaces are {spaces}: state exactly one"
        return
    (expected,) = spaces
    for each in cluster.all("Namespace"):
        if each["metadata"].get("labels", {}).get("pod-security.kubernetes.io/enforce") != "restricted":
            yield f"{name(each)} does not enforce the standard restricted"
    for each in (each for each in cluster.objects if each["kind"] not in _CLUSTER_WIDE):
        if (found := each["metadata"].get("namespace")) != expected:
            yield f"{name(each)} stands in {found}: put it into {expected}"
    for twice in sorted(which for which, count in Counter(map(name, cluster.objects)).items() if count > 1):
        yield f"{twice} is stated more than once: keep one"


def accounts_exist_and_may_do_nothing(cluster: Cluster) -> Iterator[str]:
    """Each workload has an account of its own, and no process speaks to the API of Kubernetes."""
    users = Counter(pod(each).get("serviceAccountName", "default") for each in cluster.all(*WORKLOADS))
    for each in cluster.all(*WORKLOADS):
        account = pod(each).get("serviceAccountName", "default")
        if not cluster.has("ServiceAccount", account):
            yield f"{name(each)} runs as ServiceAccount/{account}, which does not exist"
        elif users[account] > 1:
            yield f"{name(each)} shares ServiceAccount/{account} with another: rights of one are rights of both"
    for each in cluster.all("ServiceAccount"):
        if each.get("automountServiceAccountToken") is not False:
            yield f"{name(each)} gives its token to any pod that says nothing"
    yield from (f"{name(each)} gives rights that no process needs" for each in cluster.all(*_RIGHTS))


def what_pods_name_is_in_every_cluster(cluster: Cluster) -> Iterator[str]:
    """For a class, a scheduler or a node that nobody brings a pod waits for ever. Names need the usual DNS."""
    for each in cluster.all(*WORKLOADS):
        spec = pod(each)
        for field, kind in (("priorityClassName", "PriorityClass"), ("runtimeClassName", "RuntimeClass")):
            if field in spec and spec[field] not in _OF_KUBERNETES and not cluster.has(kind, spec[field]):
                yield f"{name(each)} is of {kind}/{spec[field]}, which does not exist"
        for field, usual in (("nodeName", None), ("schedulerName", "default-scheduler"), ("dnsPolicy", "ClusterFirst")):
            if spec.get(field, usual) != usual:
                yield f"{name(each)} has {field} {spec[field]}: leave it out"
        for own in sorted(set(_node_labels(spec)) - _NODE_LABELS):
            yield f"{name(each)} waits for a node with the label {own}, which only some clusters have"
        if secrets := [row.get("name") for row in spec.get("imagePullSecrets", ())]:
            yield f"{name(each)} has imagePullSecrets {secrets}: its ServiceAccount names them (deploy/README.md)"
        if aliases := spec.get("hostAliases"):
            yield f"{name(each)} has hostAliases {aliases}: addresses change, names don't"


def _node_labels(spec: Mapping[str, Any]) -> Iterator[str]:
    """Labels without which a node is not taken."""
    stated = spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    yield from spec.get("nodeSelector", ())
    yield from (row["key"] for term in stated.get("nodeSelectorTerms", ()) for row in term.get("matchExpressions", ()))


def objects_are_of_kinds_that_checks_know(cluster: Cluster) -> Iterator[str]:
    """What none of them looks at may forbid the pods (LimitRange, ResourceQuota) or change them (webhooks)."""
    for each in cluster.objects:
        if each["kind"] not in _KNOWN:
            yield f"{name(each)} is of a kind that no check knows: write one, and list it"


def claims_get_their_disks(cluster: Cluster) -> Iterator[str]:
    """Without a class a claim gets the cluster's own, and which others there are the operator knows (deploy/README.md).

    The class "" is none: the claim waits for a disk that somebody makes by hand.
    """
    claims = [(each, each) for each in cluster.all("PersistentVolumeClaim")]
    claims += [
        (each, one) for each in cluster.all("StatefulSet") for one in each["spec"].get("volumeClaimTemplates", ())
    ]
    for each, claim in claims:
        named = claim["spec"].get("storageClassName", "default")
        if not _DISK_CLASS.fullmatch(named):
            yield f"{name(each)} asks for a disk of the class '{named}', which can't be: leave it out, or name one"
        if claim["spec"].get("volumeMode", "Filesystem") != "Filesystem":
            yield f"{name(each)} asks for a disk without a file system"


BOUNDARIES: Final = (
    guarded_by_a_policy,
    egress_is_what_a_pod_needs,
    ingress_is_what_a_pod_serves,
    objects_stand_once_in_one_namespace,
    accounts_exist_and_may_do_nothing,
    what_pods_name_is_in_every_cluster,
    objects_are_of_kinds_that_checks_know,
    claims_get_their_disks,
)
