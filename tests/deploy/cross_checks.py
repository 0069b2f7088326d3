"""What no schema sees: whether the objects of an overlay fit each other, and the names of contracts.

In: the objects, and which consumers exist. Out: one line per fault; none for what can be applied.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from fanfuse_contracts import limits

Object = dict[str, Any]
WORKLOADS: Final = ("Deployment", "StatefulSet", "Job")
KEPT: Final = ("Deployment", "StatefulSet")
_CLOSING_S: Final = 5.0
"""What a process takes to close its connection after its drain (fanfuse_runtime.connection)."""
_FIXED_TAG: Final = re.compile(r"[^:@]+:(?!latest$)[\w.-]+")
GIVEN: Final = re.compile(r"nats-.+|fanfuse-(engines|registry)")
"""Secrets that the operator creates."""


class Cluster:
    """The objects of one overlay by kind and name."""

    def __init__(self, objects: Iterable[Object], consumers: Mapping[str, str]) -> None:
        """`consumers`: durable to stream."""
        self.objects = list(objects)
        self.consumers = consumers

    def all(self, *kinds: str) -> Iterator[Object]:
        return (each for each in self.objects if each["kind"] in kinds)

    def has(self, kind: str, name: str) -> bool:
        return any(each["metadata"]["name"] == name for each in self.all(kind))

    def selected(self, selector: Mapping[str, Any], kinds: Iterable[str] = WORKLOADS) -> list[Object]:
        return [each for each in self.all(*kinds) if matches(selector, labels(each))]


def labels(workload: Object) -> dict[str, str]:
    found: dict[str, str] = workload["spec"]["template"]["metadata"].get("labels", {})
    return found


def pod(workload: Object) -> dict[str, Any]:
    found: dict[str, Any] = workload["spec"]["template"]["spec"]
    return found


def name(each: Object) -> str:
    return f"{each['kind']}/{each['metadata']['name']}"


def ports(workload: Object) -> set[str]:
    return {port["name"] for container in pod(workload)["containers"] for port in container.get("ports", ())}


def matches(selector: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    wanted = selector.get("matchLabels", {})
    rows = selector.get("matchExpressions", ())
    return all(found.get(key) == value for key, value in wanted.items()) and all(
        found.get(row["key"]) in row["values"] for row in rows
    )


def selectors_meet_labels(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all(*KEPT):
        if not matches(each["spec"]["selector"], labels(each)):
            yield f"{name(each)} does not select its own pods"
    for each in cluster.all("Service"):
        if not cluster.selected({"matchLabels": each["spec"]["selector"]}):
            yield f"{name(each)} selects nothing"
    for each in cluster.all("NetworkPolicy"):
        selector = each["spec"]["podSelector"]
        if selector and not cluster.selected(selector):
            yield f"{name(each)} selects nothing"
    for each in cluster.all("PodMonitor"):
        if not cluster.selected(each["spec"]["selector"]):
            yield f"{name(each)} selects nothing"


def named_ports_exist(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all("Service"):
        yield from _unknown(each, cluster.selected({"matchLabels": each["spec"]["selector"]}), _service_ports(each))
    for each in cluster.all("PodMonitor"):
        wanted = {row["port"] for row in each["spec"]["podMetricsEndpoints"]}
        yield from _unknown(each, cluster.selected(each["spec"]["selector"]), wanted)
    for each in cluster.all("NetworkPolicy"):
        wanted = {port["port"] for rule in each["spec"].get("ingress", ()) for port in rule.get("ports", ())}
        yield from _unknown(each, cluster.selected(each["spec"]["podSelector"]), wanted)
    for each in cluster.all(*WORKLOADS):
        probes = {
            probe["httpGet"]["port"]
            for container in pod(each)["containers"]
            for key, probe in container.items()
            if key.endswith("Probe")
        }
        yield from _unknown(each, [each], probes)


def _service_ports(service: Object) -> set[Any]:
    return {port["targetPort"] for port in service["spec"]["ports"]}


def _unknown(each: Object, workloads: Iterable[Object], wanted: set[Any]) -> Iterator[str]:
    for workload in workloads:
        for port in sorted({port for port in wanted if isinstance(port, str)} - ports(workload)):
            yield f"{name(each)} names port {port}, which {name(workload)} has not"


def accounts_exist(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all(*WORKLOADS):
        account = pod(each).get("serviceAccountName", "default")
        if not cluster.has("ServiceAccount", account):
            yield f"{name(each)} runs as {account}, which does not exist"


def one_budget_each(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all(*KEPT):
        budgets = [pdb for pdb in cluster.all("PodDisruptionBudget") if matches(pdb["spec"]["selector"], labels(each))]
        if len(budgets) != 1:
            yield f"{name(each)} has {len(budgets)} budgets"
    for pdb in cluster.all("PodDisruptionBudget"):
        if "minAvailable" in pdb["spec"] or pdb["spec"].get("maxUnavailable") in (0, "0%"):
            yield f"{name(pdb)} can block the drain of a node"


def guarded_by_a_policy(cluster: Cluster) -> Iterator[str]:
    """A policy of its own, beside the one for everybody."""
    for each in cluster.all(*WORKLOADS):
        selectors = (policy["spec"]["podSelector"] for policy in cluster.all("NetworkPolicy"))
        if not any(selector and matches(selector, labels(each)) for selector in selectors):
            yield f"{name(each)} has no network policy"
    denied = (policy["spec"] for policy in cluster.all("NetworkPolicy") if not policy["spec"]["podSelector"])
    if not any(set(spec["policyTypes"]) == {"Ingress", "Egress"} and "egress" not in spec for spec in denied):
        yield "nothing is denied by default"


def scalers_fit(cluster: Cluster) -> Iterator[str]:
    """DEP-02: stream and consumer are those that contracts make."""
    for each in cluster.all("ScaledObject"):
        spec, target = each["spec"], each["spec"]["scaleTargetRef"]["name"]
        scaled = [found for found in cluster.all("Deployment") if found["metadata"]["name"] == target]
        if not scaled:
            yield f"{name(each)} scales {target}, which does not exist"
        elif "replicas" in scaled[0]["spec"]:
            yield f"{name(each)} scales {target}, which states its replicas itself"
        least, most = spec.get("minReplicaCount", 0), spec.get("maxReplicaCount")
        if most is None or least > most or "fallback" not in spec:
            yield f"{name(each)} has no bounds or no fallback"
        yield from (f"{name(each)} {fault}" for row in spec["triggers"] for fault in _trigger_faults(cluster, row))


def _trigger_faults(cluster: Cluster, trigger: Mapping[str, Any]) -> Iterator[str]:
    stated = trigger["metadata"]
    if cluster.consumers.get(stated["consumer"]) != stated["stream"]:
        yield f"reads {stated['stream']}/{stated['consumer']}, which nobody creates"
    service, _, port = stated["natsServerMonitoringEndpoint"].partition(":")
    host = service.split(".")[0]
    headless = [each for each in cluster.all("Service") if each["metadata"]["name"] == host]
    if not any(
        each["spec"].get("clusterIP") == "None" and int(port) in {row["port"] for row in each["spec"]["ports"]}
        for each in headless
    ):
        yield f"asks {service}:{port}, which is no headless service with that port"
    if any(not isinstance(value, str) for value in stated.values()):
        yield "has metadata that are no strings"


def images_are_fixed(cluster: Cluster) -> Iterator[str]:
    for each, container in containers(cluster):
        if not _FIXED_TAG.fullmatch(container["image"].rsplit("/", 1)[-1]):
            yield f"{name(each)} runs {container['image']}"


def resources_are_bounded(cluster: Cluster) -> Iterator[str]:
    for each, container in containers(cluster):
        stated = container.get("resources", {})
        for part in ("requests", "limits"):
            if not {"cpu", "memory"} <= stated.get(part, {}).keys():
                yield f"{name(each)} has no {part} of cpu and memory"


def pods_are_restricted(cluster: Cluster) -> Iterator[str]:
    """The Pod Security Standard `restricted`, and a root that can't be written."""
    for each in cluster.all(*WORKLOADS):
        context = pod(each).get("securityContext", {})
        if not (context.get("runAsNonRoot") and context.get("runAsUser") and context.get("seccompProfile")):
            yield f"{name(each)} may run as root, or without seccomp"
        if pod(each).get("automountServiceAccountToken") is not False:
            yield f"{name(each)} has a token of the cluster that it does not need"
    for each, container in containers(cluster):
        own = container.get("securityContext", {})
        dropped = own.get("capabilities", {}).get("drop") == ["ALL"]
        if own.get("allowPrivilegeEscalation") is not False or not own.get("readOnlyRootFilesystem") or not dropped:
            yield f"{name(each)} has a container with rights it does not need"


def references_exist(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all(*WORKLOADS):
        mounted = {mount["name"] for c in pod(each)["containers"] for mount in c.get("volumeMounts", ())}
        volumes = {volume["name"]: volume for volume in pod(each).get("volumes", ())}
        claims = {claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", ())}
        for missing in sorted(mounted - volumes.keys() - claims):
            yield f"{name(each)} mounts {missing}, which is no volume"
        for volume in volumes.values():
            config = volume.get("configMap", {}).get("name")
            if config and not cluster.has("ConfigMap", config):
                yield f"{name(each)} reads ConfigMap {config}, which does not exist"
            secret = volume.get("secret", {}).get("secretName")
            if secret and not GIVEN.fullmatch(secret):
                yield f"{name(each)} reads Secret {secret}, which nobody creates"


def grace_is_longer_than_the_drain(cluster: Cluster) -> Iterator[str]:
    """NAT-09: SIGTERM, drain, close, all before the kill."""
    for each in cluster.all("Deployment"):
        if pod(each).get("terminationGracePeriodSeconds", 30) <= limits.DRAIN_TIMEOUT_S + _CLOSING_S:
            yield f"{name(each)} is killed before it has drained"


def containers(cluster: Cluster) -> Iterator[tuple[Object, dict[str, Any]]]:
    return ((each, container) for each in cluster.all(*WORKLOADS) for container in pod(each)["containers"])


FITTING: Final[tuple[Callable[[Cluster], Iterator[str]], ...]] = (
    selectors_meet_labels,
    named_ports_exist,
    accounts_exist,
    one_budget_each,
    guarded_by_a_policy,
    scalers_fit,
    images_are_fixed,
    resources_are_bounded,
    pods_are_restricted,
    references_exist,
    grace_is_longer_than_the_drain,
)
