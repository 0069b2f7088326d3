"""What network policies let pass: who may reach whom, at which port.

In: the objects of an overlay. Out: (peer, port) as text, by what the policies state. It judges nothing: checks do.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from tests.deploy.manifests import Cluster, Object, every_container, labels, matches, name, port_number

_SPACE: Final = "kubernetes.io/metadata.name"
ANYWHERE: Final = "anywhere"
_EVERY_SPACE: Final = "every namespace"
_EVERY_PORT: Final = "every port and more"
_PORTS: Final = {"http": 80, "https": 443}
Flow = tuple[str, str]
"""A peer, and a port with its protocol, such as 4222/TCP."""


def passed(cluster: Cluster, each: Object, way: str) -> dict[Flow, str]:
    """What the policies of a workload open, `way` being Ingress or Egress; each flow with the policy that opens it."""
    return {
        flow: name(policy)
        for policy in cluster.all("NetworkPolicy")
        if _applies(policy, way) and matches(policy["spec"].get("podSelector", {}), labels(each))
        for rule in policy["spec"].get(way.lower(), ())
        for flow in _flows(cluster, each, rule, way)
    }


def _applies(policy: Object, way: str) -> bool:
    """Rules of a way that the policy does not state as its own have no effect."""
    default = ["Ingress", *(["Egress"] if policy["spec"].get("egress") else [])]
    return way in policy["spec"].get("policyTypes", default)


def _flows(cluster: Cluster, each: Object, rule: Mapping[str, Any], way: str) -> Iterator[Flow]:
    stated = rule.get("from" if way == "Ingress" else "to")
    for peer in stated or [{}]:
        for who in _who(cluster, peer):
            target = each if way == "Ingress" else _workload(cluster, who)
            for port in rule.get("ports") or [{}]:
                yield who, _port(target, port)


def _workload(cluster: Cluster, who: str) -> Object | None:
    return next((each for each in cluster.objects if name(each) == who), None)


def _port(target: Object | None, row: Mapping[str, Any]) -> str:
    port, protocol = row.get("port"), row.get("protocol", "TCP")
    if port is None or "endPort" in row:
        return f"{f'{port} and more' if port else _EVERY_PORT}/{protocol}"
    containers = every_container(target) if target is not None else []
    return f"{port_number(containers, port, protocol) or port}/{protocol}"


def opened(found: Iterable[Flow], flow: Flow) -> bool:
    """True if a rule for everybody, or for every port, lets it pass."""
    (peer, port), there = flow, set(found)
    ports = (port, f"{_EVERY_PORT}/{port.rpartition('/')[2]}")
    return any((who, at) in there for who in (peer, ANYWHERE, _EVERY_SPACE) for at in ports)


def place_of(url: str) -> Flow:
    """Where a policy must let out to for an address: its namespace as `<service>.<namespace>.svc…`, or anywhere."""
    parts = urlsplit(url)
    tokens = (parts.hostname or "").split(".")
    place = f"namespace {tokens[1]}" if tokens[2:3] == ["svc"] else ANYWHERE
    return place, f"{parts.port or _PORTS.get(parts.scheme)}/TCP"


def _who(cluster: Cluster, peer: Mapping[str, Any]) -> list[str]:
    """Workloads of this namespace by name; others as `namespace x`, `pods {…} of namespace x`, an address."""
    if "ipBlock" in peer:
        return [str(peer["ipBlock"]["cidr"])]
    if "namespaceSelector" not in peer and "podSelector" not in peer:
        return [ANYWHERE]
    pods = peer.get("podSelector")
    if "namespaceSelector" not in peer:
        return [name(each) for each in cluster.selected(pods or {})]
    return [f"pods {pods} of {space}" if pods else space for space in _spaces(peer["namespaceSelector"])]


def _spaces(selector: Mapping[str, Any]) -> list[str]:
    by_label = selector.get("matchLabels") or {}
    rows: list[dict[str, Any]] = selector.get("matchExpressions") or []
    if not by_label and not rows:
        return [_EVERY_SPACE]
    if set(by_label) == {_SPACE} and not rows:
        return [f"namespace {by_label[_SPACE]}"]
    names = [row["values"] for row in rows if (row["key"], row["operator"]) == (_SPACE, "In")]
    if not by_label and len(rows) == len(names) == 1:
        return [f"namespace {value}" for value in names[0]]
    return [f"namespaces with {dict(by_label)} {rows}".strip(" []")]
