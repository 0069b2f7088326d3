"""What people are told and shown: alerts that can fire, in time, to somebody, and dashboards that Grafana finds.

In: the objects of an overlay, nats.conf and the shipped alertmanager.yml. Out: one line per fault, with the object that
has it. Whether expressions are right is tested on a real Prometheus, not here.
"""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from tests.deploy.manifests import Cluster, Object, name, quantity
from tests.deploy.nats_conf import bytes_of
from tests.servers.alertmanager import SHIPPED

_MATCHER: Final = re.compile(r'\b(namespace|persistentvolumeclaim)=~?"([^"]+)"')
_OF_A_SEVERITY: Final = re.compile(r"severity\s*=\s*\"?(\w+)\"?")
_FILLED: Final = re.compile(r"kubelet_volume_stats_used_bytes\b.*>=?\s*([\d.]+(?:e\d+)?)\s*$", re.DOTALL)
_DASHBOARDS: Final = "grafana_dashboard"
"""The label that Grafana's sidecar looks for."""


def alerts_speak_of_what_is_there(cluster: Cluster) -> Iterator[str]:
    """An alert of a namespace or a volume of another name never fires."""
    if cluster.available and not any(cluster.all("PrometheusRule")):
        yield "PrometheusRule: nobody is told of anything"
    for rule, row in _rules(cluster):
        claims = [f"{claim['metadata']['name']}-{each['metadata']['name']}-0" for each, claim in _claims(cluster)]
        for label, pattern in _MATCHER.findall(row["expr"]):
            there = [rule["metadata"].get("namespace", "")] if label == "namespace" else claims
            if not any(re.fullmatch(pattern, one) for one in there):
                yield f"{name(rule)} watches the {label} {pattern}: there are {there}"


def alerts_come_before_the_store_is_full(cluster: Cluster) -> Iterator[str]:
    """Above what the server stores at all, or above its disk, it never fires."""
    disks = [quantity(claim["spec"]["resources"]["requests"]["storage"]) for _, claim in _claims(cluster)]
    full = [size for size in (bytes_of(cluster, "max_file_store"), *disks) if size]
    for rule, row in _rules(cluster):
        found = _FILLED.search(row["expr"])
        if found and full and not 0 < float(found[1]) < min(full):
            yield f"{name(rule)} tells of {row.get('alert')} at {found[1]} B: the store is full at {min(full):g} B"


def alerts_go_to_somebody(cluster: Cluster) -> Iterator[str]:
    """One without a severity, or of another, goes to the receiver of whatever has no route: today, not now."""
    for rule, row in _rules(cluster):
        severity = row.get("labels", {}).get("severity")
        if "alert" in row and severity not in _severities():
            yield f"{name(rule)} has {row['alert']} of the severity {severity}: alertmanager.yml has {_severities()}"


@functools.cache
def _severities() -> list[str]:
    """Of the routes, and that of the receiver of all else, whose name is its severity."""
    route = yaml.safe_load((SHIPPED / "alertmanager.yml").read_text(encoding="utf-8"))["route"]
    matchers = (matcher for each in route["routes"] for matcher in each["matchers"])
    routed = (_OF_A_SEVERITY.fullmatch(matcher.strip()) for matcher in matchers)
    return sorted({route["receiver"], *(found[1] for found in routed if found)})


def dashboards_are_found(cluster: Cluster) -> Iterator[str]:
    """By the label, and as Grafana reads them; those that alerts speak of come along with the alerts."""
    boards = [each for each in cluster.all("ConfigMap") if any(key.endswith(".json") for key in each.get("data", {}))]
    if any(cluster.all("PrometheusRule")) and not boards:
        yield "ConfigMap: there are alerts and no dashboards"
    for each in boards:
        if each["metadata"].get("labels", {}).get(_DASHBOARDS) != "1":
            yield f'{name(each)} lacks the label {_DASHBOARDS}: "1", by which Grafana finds it'
        for file, text in each["data"].items():
            if not _has_panels(text):
                yield f"{name(each)} has {file}, which is no dashboard"


def _has_panels(text: str) -> bool:
    try:
        board = json.loads(text)
    except json.JSONDecodeError:
        return False
    return isinstance(board, dict) and bool(board.get("panels"))


def _rules(cluster: Cluster) -> Iterator[tuple[Object, dict[str, Any]]]:
    for rule in cluster.all("PrometheusRule"):
        yield from ((rule, row) for group in rule["spec"].get("groups", ()) for row in group["rules"])


def _claims(cluster: Cluster) -> Iterator[tuple[Object, Object]]:
    for each in cluster.all("StatefulSet"):
        yield from ((each, claim) for claim in each["spec"].get("volumeClaimTemplates", ()))


ALERTS: Final = (
    alerts_speak_of_what_is_there,
    alerts_come_before_the_store_is_full,
    alerts_go_to_somebody,
    dashboards_are_found,
)
