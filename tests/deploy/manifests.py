"""The objects of one overlay as checks ask for them: workloads, pods, containers, ports, selectors, quantities.

In: rendered objects, and what contracts declare. Out: parts of them. It judges nothing: checks do.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import yaml

from fanfuse_all_in_one.deploying.pools import WorkerPool, pools_of
from fanfuse_contracts import permissions
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.permissions import Permissions

Object = dict[str, Any]
KEPT: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
"""What runs for ever."""
ENDING: Final = ("Job", "CronJob")
"""What runs to its end."""
WORKLOADS: Final = (*KEPT, *ENDING, "Pod")
"""Whatever makes pods: a planted one of a kind that we don't use must meet the same checks."""
PROCESS: Final = "fanfuse.dev/process"
WORKERS: Final = Stage.BACKEND_WORKERS.value
TRACES: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Variables with an address for traces, which an operator may state with a policy for it (deploy/README.md)."""
COMMANDS: Final = "cli"
"""The image of the commands, and of everything in one process."""
SERVICES: Final = frozenset({*(stage.value for stage in Stage), COMMANDS})
_QUANTITY: Final = re.compile(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)")
_UNITS: Final = {"": 1.0, "m": 1e-3, "k": 1e3} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGTPE", start=1)
    for suffix, base in (("", 1e3), ("i", 1024.0), ("iB", 1024.0), ("B", 1024.0))
}
"""Of Kubernetes (Mi), of Go (MiB) and of nats-server, where MB is MiB."""

_DURATIONS: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_DURATION: Final = re.compile(rf"(?:{_DURATIONS.pattern})+")
_SECONDS: Final = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Cluster:
    """The objects of one overlay by kind and name."""

    def __init__(self, objects: Iterable[Object], consumers: Mapping[str, str], *, available: bool) -> None:
        """`consumers`: durable to stream. `available`: no single pod or node may take a stage away (overlay `prod`)."""
        self.objects = list(objects)
        self.consumers = consumers
        self.available = available

    def all(self, *kinds: str) -> Iterator[Object]:
        return (each for each in self.objects if each["kind"] in kinds)

    def get(self, kind: str, name: str) -> Object | None:
        return next((each for each in self.all(kind) if each["metadata"]["name"] == name), None)

    def has(self, kind: str, name: str) -> bool:
        return self.get(kind, name) is not None

    def selected(self, selector: Mapping[str, Any], kinds: Iterable[str] = WORKLOADS) -> list[Object]:
        return [each for each in self.all(*kinds) if matches(selector, labels(each))]

    def behind(self, service: Object | None) -> list[Object]:
        """The workloads that a service leads to. Without a selector it leads nowhere: nobody here writes endpoints."""
        selector = service["spec"].get("selector") if service is not None else None
        return self.selected({"matchLabels": selector}) if selector else []

    def containers(self) -> Iterator[tuple[Object, Object]]:
        """Every container of every workload, those that run first or are attached later too."""
        return ((each, container) for each in self.all(*WORKLOADS) for container in every_container(each))

    def processes(self) -> Iterator[tuple[Object, Object]]:
        """Each workload of Fanfuse with the container of its process."""
        return ((each, pod(each)["containers"][0]) for each in self.all(*WORKLOADS) if is_process(each))

    def servers(self) -> Iterator[tuple[Object, Object]]:
        """Each workload of nats-server with the container of the server."""
        return ((each, pod(each)["containers"][0]) for each in self.all("StatefulSet"))

    def data(self, key: str) -> str:
        """The text of a file of some ConfigMap; empty where there is none."""
        return next((each["data"][key] for each in self.all("ConfigMap") if key in each.get("data", {})), "")

    @cached_property
    def config(self) -> FanfuseConfig:
        """The operator's file."""
        return FanfuseConfig.model_validate(yaml.safe_load(self.data("fanfuse.yaml")) or {})

    @cached_property
    def pools(self) -> dict[str, WorkerPool]:
        """The pools of workers that the operator's file needs, as a process names them."""
        return {f"{pool.kind.value}/{pool.name}": pool for pool in pools_of(self.config)}

    @cached_property
    def users(self) -> dict[str, Permissions]:
        """Users of the bus that have a key in a Secret: not the operator, who is a person."""
        everyone = permissions.of_everyone([pool.id for pool in self.pools.values()], ())
        return {one.user: one for one in everyone if one.user != permissions.OPERATOR}

    @cached_property
    def keys(self) -> frozenset[str]:
        """Secrets with a user's key. Where nobody has a key, a process may have one of its own name."""
        return frozenset(map(key_of, (*self.users, *(each["metadata"]["name"] for each, _ in self.processes()))))


def key_of(user: str) -> str:
    """The Secret with a user's key."""
    return f"nats-{user.lower()}"


def name(each: Object) -> str:
    return f"{each['kind']}/{each['metadata']['name']}"


def template(workload: Object) -> dict[str, Any]:
    """What its pods are made from."""
    if workload["kind"] == "Pod":
        return workload
    spec = workload["spec"]["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else workload["spec"]
    found: dict[str, Any] = spec["template"]
    return found


def labels(workload: Object) -> dict[str, str]:
    found: dict[str, str] = template(workload).get("metadata", {}).get("labels", {})
    return found


def own_labels(each: Object) -> dict[str, str]:
    found: dict[str, str] = each["metadata"].get("labels", {})
    return found


def pod(workload: Object) -> dict[str, Any]:
    found: dict[str, Any] = template(workload)["spec"]
    return found


def every_container(workload: Object) -> list[Object]:
    keys = ("containers", "initContainers", "ephemeralContainers")
    return [container for key in keys for container in pod(workload).get(key, ())]


def where(workload: Object, container: Object) -> str:
    return f"{name(workload)} container {container['name']}"


def image(container: Object) -> str:
    """Name of an image without its registry, tag and digest."""
    return re.split("[:@]", container.get("image", "").rpartition("/")[2])[0]


def is_process(workload: Object) -> bool:
    """By its labels or by its image: a mistake in one of them must not hide the workload from its checks."""
    labelled = PROCESS in labels(workload) or PROCESS in own_labels(workload)
    return labelled or image(pod(workload)["containers"][0]) in SERVICES


def speaks_to_engines(workload: Object) -> bool:
    return own_labels(workload).get("fanfuse.dev/engines") == "speaks"


def variables(container: Object) -> dict[str, str]:
    """Those that the manifest states a value for."""
    return {row["name"]: row["value"] for row in container.get("env", ()) if row.get("value") is not None}


def creates(workload: Object, container: Object) -> str:
    """Which streams and consumers it makes: `all`, `memory` or `nothing`; a job all of them, whatever it is told."""
    return "all" if workload["kind"] in ENDING else variables(container).get("FANFUSE_CREATES", "all")


def pools_served(container: Object) -> list[str]:
    """As a worker's environment states them."""
    if image(container) != WORKERS:
        return []
    return [text.strip() for text in variables(container).get("FANFUSE_WORKER_POOLS", "").split(",") if text.strip()]


def runs_everything(container: Object) -> bool:
    """True for `fanfuse up`: every stage and every pool in one process."""
    return image(container) == COMMANDS and container.get("args", [""])[0] == "up"


def ports(*containers: Object) -> list[Object]:
    return [port for container in containers for port in container.get("ports", ())]


def port_number(containers: Iterable[Object], port: str | int, protocol: str = "TCP") -> int | None:
    """The number of a port that is named or numbered; None where no container states it for this protocol."""
    for row in ports(*containers):
        if port in (row.get("name"), row["containerPort"]) and row.get("protocol", "TCP") == protocol:
            return int(row["containerPort"])
    return None


def matches(selector: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    wanted = selector.get("matchLabels") or {}
    rows = selector.get("matchExpressions") or ()
    return all(found.get(key) == value for key, value in wanted.items()) and all(_holds(row, found) for row in rows)


def _holds(row: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    value, values = found.get(row["key"]), row.get("values") or ()
    by_operator = {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }
    return by_operator.get(row["operator"], False)


def least_replicas(cluster: Cluster, workload: Object) -> int:
    """How many there are at the least: what a ScaledObject states goes over the workload's own number."""
    for scaled in cluster.all("ScaledObject"):
        if scaled["spec"]["scaleTargetRef"]["name"] == workload["metadata"]["name"]:
            spec = scaled["spec"]
            return int(spec.get("idleReplicaCount", spec.get("minReplicaCount", 0)))
    return int(workload["spec"].get("replicas", 1))


def quantity(text: str | float) -> float:
    """`250m`, `1Gi`, `1800MiB`, `10GB` as a number; NaN for what is none, which is over and under no other."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in _UNITS:
        return math.nan
    return float(found[1]) * _UNITS[found[2]]


def seconds(text: str) -> float:
    """`30s`, `2m`, `1m30s`; NaN for what is no duration."""
    if not _DURATION.fullmatch(text):
        return math.nan
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATIONS.findall(text))
