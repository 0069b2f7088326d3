"""Who is meant by whom: selectors of workloads, services, budgets, policies, monitors and of the spread over nodes.

In: the objects of an overlay. Out: one line per fault, with the object that has it.
"""

from collections.abc import Iterator
from typing import Any, Final

from tests.deploy.manifests import KEPT, WORKLOADS, Cluster, Object, labels, least_replicas, matches, name, pod

_HOSTS: Final = "kubernetes.io/hostname"
_ZONES: Final = "topology.kubernetes.io/zone"
_OF_THE_CONTROLLER: Final = {"pod-template-hash", "controller-revision-hash"}
"""Labels that pods get from their controller."""


def selectors_meet_labels(cluster: Cluster) -> Iterator[str]:
    """Who selects selects something, and a controller its own pods alone: it would count another's as its own."""
    for each in cluster.all(*KEPT):
        selected = [name(one) for one in cluster.selected(each["spec"]["selector"])]
        if name(each) not in selected:
            yield f"{name(each)} does not select its own pods"
        yield from (f"{name(each)} selects pods of {other}" for other in selected if other != name(each))
    for each in cluster.all("Service", "NetworkPolicy", "PodMonitor", "PodDisruptionBudget"):
        if not _meant(cluster, each):
            yield f"{name(each)} selects nothing"


def _meant(cluster: Cluster, each: Object) -> list[Object]:
    if each["kind"] == "Service":
        return cluster.behind(each)
    return cluster.selected(each["spec"].get("podSelector" if each["kind"] == "NetworkPolicy" else "selector") or {})


def services_lead_to_one_workload(cluster: Cluster) -> Iterator[str]:
    """Of two workloads behind one name a client meets either. And nobody outside the cluster may reach one."""
    for each in cluster.all("Service"):
        spec = each["spec"]
        selected = [name(one) for one in cluster.behind(each)]
        if len(selected) > 1:
            yield f"{name(each)} selects {selected}: one is meant"
        if spec.get("type", "ClusterIP") != "ClusterIP" or spec.get("externalIPs"):
            yield f"{name(each)} is open to the world: make it a ClusterIP"
        if spec.get("internalTrafficPolicy", "Cluster") != "Cluster":
            yield f"{name(each)} serves only pods on a node with one of its own"
        if spec.get("clusterIP") == "None":
            continue
        if spec.get("publishNotReadyAddresses"):
            yield f"{name(each)} leads clients to pods that are not ready"
        if any(row.get("targetPort") in ("monitor", "cluster") for row in spec["ports"]):
            yield f"{name(each)} opens ports that ask nobody who they are: client alone"
    for each in cluster.all("Ingress", "Gateway"):
        yield f"{name(each)} opens the bus to the world"


def servers_know_each_other(cluster: Cluster) -> Iterator[str]:
    """A StatefulSet's pods have names by a headless service that selects them.

    Before a server is ready the others must find it, and it must not wait for the one before it: each is ready only
    with its streams caught up, for which there must be two.
    """
    for each in cluster.all("StatefulSet"):
        stated = each["spec"].get("serviceName", "")
        service = cluster.get("Service", stated)
        if service is None or service["spec"].get("clusterIP") != "None":
            yield f"{name(each)} has its names from {stated}, which is no headless service"
            continue
        if each not in cluster.behind(service):
            yield f"{name(each)} has its names from {name(service)}, which does not select it"
        if each["spec"].get("replicas", 1) < 2:
            continue
        if not service["spec"].get("publishNotReadyAddresses"):
            yield f"{name(service)} hides servers of {name(each)} until they are ready, which they need each other for"
        if each["spec"].get("podManagementPolicy") != "Parallel":
            yield f"{name(each)} starts one server after the other: the first waits for the second for ever"


def one_budget_each(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all(*KEPT):
        budgets = [pdb for pdb in cluster.all("PodDisruptionBudget") if matches(pdb["spec"]["selector"], labels(each))]
        if len(budgets) != 1:
            yield f"{name(each)} has {len(budgets)} budgets: {[name(pdb) for pdb in budgets]}"
    for pdb in cluster.all("PodDisruptionBudget"):
        covered = [name(each) for each in cluster.selected(pdb["spec"]["selector"], KEPT)]
        if len(covered) > 1:
            yield f"{name(pdb)} is for {covered} together: a drain of one keeps the other's from going"


def budgets_let_a_node_drain_and_no_stage_go(cluster: Cluster) -> Iterator[str]:
    """`minAvailable` of a workload that has only so many, or `maxUnavailable: 0`, blocks each drain, so budgets say how
    many may go. More than a workload can miss is an outage by plan: all of its replicas, or a majority of the servers.
    In `dev` each is one process, and one may go: no budget could keep it there without blocking the drain.
    """
    for pdb in cluster.all("PodDisruptionBudget"):
        spec = pdb["spec"]
        if "minAvailable" in spec or spec.get("maxUnavailable") in (None, 0, "0%"):
            yield f"{name(pdb)} can block the drain of a node: state maxUnavailable"
        if spec.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
            yield f"{name(pdb)} blocks the drain of a node while its pods are not ready: AlwaysAllow"
        for each in cluster.selected(spec["selector"], KEPT) if cluster.available else ():
            least = least_replicas(cluster, each)
            spared = (least - 1) // 2 if each["kind"] == "StatefulSet" else least - 1
            if _going(spec.get("maxUnavailable", 0), least) > max(spared, 1):
                yield f"{name(pdb)} lets more pods of {name(each)} go than its {least} can miss"


def _going(stated: int | str, replicas: int) -> int:
    """How many that is; a share is rounded up."""
    return -(-replicas * int(stated.rstrip("%")) // 100) if isinstance(stated, str) else stated


def nothing_runs_alone(cluster: Cluster) -> Iterator[str]:
    """Where one may go at any time there is another, and an update takes none away before its successor is ready."""
    for each in cluster.all(*KEPT):
        least = least_replicas(cluster, each)
        needed = (3 if each["kind"] == "StatefulSet" else 2) if cluster.available else 1
        if least < needed:
            yield f"{name(each)} runs {least} times at the least: {needed} are needed for one to go"
        rolling = each["spec"].get("strategy", {})
        spared = rolling.get("rollingUpdate", {}).get("maxUnavailable", "25%")
        alone = rolling.get("type") == "Recreate" or (each["kind"] == "Deployment" and _going(spared, least) >= least)
        if alone and cluster.available:
            yield f"{name(each)} has no replica while it is updated"
        if rolling.get("rollingUpdate", {}).get("maxSurge", 1) == spared == 0:
            yield f"{name(each)} can't be updated: none may go and none may come"


def copies_are_spread(cluster: Cluster) -> Iterator[str]:
    """A rule that counts other pods than its own spreads nothing, and one node or zone would take all of them along.

    Servers must not share a node: two of three on one are the quorum. (Elsewhere a full node must keep nobody waiting.)
    """
    for each in cluster.all(*WORKLOADS):
        rules = pod(each).get("topologySpreadConstraints", [])
        for rule in rules:
            counted = [name(one) for one in cluster.selected(_counted(rule, labels(each)))]
            if counted != [name(each)]:
                yield f"{name(each)} is spread over {rule['topologyKey']} by counting the pods of {counted or 'nobody'}"
            if rule["maxSkew"] != 1:
                yield f"{name(each)} is not spread evenly over {rule['topologyKey']}: maxSkew {rule['maxSkew']}"
        for kind, row in _affinities(pod(each)):
            if each not in cluster.selected(row.get("labelSelector") or {"matchLabels": {"": ""}}):
                yield f"{name(each)} has a {kind} that does not select its own pods"
            elif cluster.available and kind == "podAffinity":
                yield f"{name(each)} wants its pods together on one {row['topologyKey']}: it goes at once"
        if cluster.available and each["kind"] in KEPT:
            over = {(one["topologyKey"], one["whenUnsatisfiable"]) for one in rules}
            strict = {"DoNotSchedule"} if each["kind"] == "StatefulSet" else {"DoNotSchedule", "ScheduleAnyway"}
            if not any((_HOSTS, how) in over for how in strict) or _ZONES not in {key for key, _ in over}:
                yield f"{name(each)} may have all its pods on one node, or in one zone"


def _counted(rule: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    """Its selector, and for its keys the pod's own values. None selects nothing."""
    selector = rule.get("labelSelector") or {"matchLabels": {"": ""}}
    keys = [key for key in rule.get("matchLabelKeys", ()) if key not in _OF_THE_CONTROLLER]
    rows = [{"key": key, "operator": "In", "values": [own.get(key)] if key in own else []} for key in keys]
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *rows]}


def _affinities(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in ("podAffinity", "podAntiAffinity"):
        stated = spec.get("affinity", {}).get(kind, {})
        for row in stated.get("requiredDuringSchedulingIgnoredDuringExecution", ()):
            yield kind, row
        for weighted in stated.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            yield kind, weighted["podAffinityTerm"]


SELECTING: Final = (
    selectors_meet_labels,
    services_lead_to_one_workload,
    servers_know_each_other,
    one_budget_each,
    budgets_let_a_node_drain_and_no_stage_go,
    nothing_runs_alone,
    copies_are_spread,
)
