"""Words of closed sets: for the schemas they are any text, and Kubernetes refuses a misspelt one when it is late.

In: the objects of an overlay. Out: one line per fault, with the object and the place.
"""

from collections.abc import Iterator
from typing import Any, Final

from tests.deploy.manifests import Cluster, name

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


WORDS: Final = (words_are_of_their_sets,)
