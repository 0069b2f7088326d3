"""Words of closed sets: for the schemas they are any text, and Kubernetes refuses a misspelt one when it is late.

In: the objects of an overlay. Out: one line per fault, with the object and the place.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from tests.deploy.manifests import WORKLOADS, Cluster, every_container, labels, name, own_labels, pod, ports

_SETS: Final = {
    "accessModes": {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
    "imagePullPolicy": {"Always", "IfNotPresent", "Never"},
    "internalTrafficPolicy": {"Cluster", "Local"},
    "operator": {"In", "NotIn", "Exists", "DoesNotExist"},
    "podManagementPolicy": {"Parallel", "OrderedReady"},
    "policyTypes": {"Ingress", "Egress"},
    "protocol": {"TCP", "UDP", "SCTP"},
    "restartPolicy": {"Always", "OnFailure", "Never"},
    "unhealthyPodEvictionPolicy": {"AlwaysAllow", "IfHealthyBudget"},
    "whenUnsatisfiable": {"DoNotSchedule", "ScheduleAnyway"},
    "pod-security.kubernetes.io/audit": {"restricted"},
    "pod-security.kubernetes.io/warn": {"restricted"},
}
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_LABEL: Final = re.compile(r"([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?")
_PORT_NAME: Final = re.compile(r"(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?")
_TYPES: Final = {
    "strategy": {"RollingUpdate", "Recreate"},
    "updateStrategy": {"RollingUpdate", "OnDelete"},
    "seccompProfile": {"RuntimeDefault", "Localhost", "Unconfined"},
    "policies": {"Pods", "Percent"},
}
_BEHAVIOURS: Final = {"static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"}


def words_are_of_their_sets(cluster: Cluster) -> Iterator[str]:
    for each in cluster.objects:
        for place, word, allowed in _found(each, "", ""):
            if word not in allowed:
                yield f"{name(each)} says {word} at {place}: one of {sorted(allowed)}"


def _found(part: Any, key: str, place: str) -> Iterator[tuple[str, Any, set[str]]]:
    """Every word that is of a closed set, with its place."""
    if isinstance(part, dict):
        for below, value in part.items():
            yield from _found(value, below, f"{place}.{below}")
        if key in _TYPES and "type" in part:
            yield f"{place}.type", part["type"], _TYPES[key]
        if key == "fallback" and "behavior" in part:
            yield f"{place}.behavior", part["behavior"], _BEHAVIOURS
    elif isinstance(part, list):
        for value in part:
            yield from _found(value, key, place)
    elif key in _SETS:
        yield place, part, _SETS[key]


def names_are_unique_and_fit(cluster: Cluster) -> Iterator[str]:
    """As long and of such letters as Kubernetes takes; one name once in a pod."""
    for each in cluster.objects:
        if not _NAME.fullmatch(each["metadata"]["name"]):
            yield f"{name(each)} has no name that Kubernetes takes"
    for each in cluster.all(*WORKLOADS):
        containers = [one["name"] for one in every_container(each)]
        volumes = [one["name"] for one in pod(each).get("volumes", ())]
        for twice in sorted({one for found in (containers, volumes) for one in found if found.count(one) > 1}):
            yield f"{name(each)} has two parts of the name {twice}"
        named = [row["name"] for row in ports(*every_container(each)) if "name" in row]
        for wrong in sorted(one for one in named if not _PORT_NAME.fullmatch(one)):
            yield f"{name(each)} has the port {wrong}: 15 small letters, digits and '-' at most"
        for key, value in (*own_labels(each).items(), *labels(each).items()):
            if not _LABEL.fullmatch(value):
                yield f"{name(each)} has the label {key}={value}, which Kubernetes does not take"


WORDS: Final = (words_are_of_their_sets, names_are_unique_and_fit)
