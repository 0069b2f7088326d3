"""Ports and addresses: what is named or numbered is there, is what the process listens on, and answers what is asked.

In: the objects of an overlay, nats.conf among them. Out: one line per fault, with the object that has it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from tests.deploy.manifests import (
    ENDING,
    WORKLOADS,
    Cluster,
    Object,
    every_container,
    name,
    port_number,
    ports,
    variables,
    where,
)
from tests.deploy.nats_conf import lines_of, stated

_EVERYWHERE: Final = ("0.0.0.0", "::")
_ROUTE: Final = re.compile(r'"?(\w+://[^\s",\]]+)"?')


def ports_exist(cluster: Cluster) -> Iterator[str]:
    """By name or number, for the protocol that is meant."""
    for each in cluster.all("Service"):
        wanted = [(row.get("targetPort", row["port"]), row.get("protocol", "TCP")) for row in each["spec"]["ports"]]
        yield from _unknown(each, cluster.behind(each), wanted)
    for each in cluster.all("PodMonitor"):
        rows = each["spec"]["podMetricsEndpoints"]
        wanted = [(row.get("port") or row.get("portNumber") or row.get("targetPort"), "TCP") for row in rows]
        yield from _unknown(each, cluster.selected(each["spec"]["selector"]), wanted)
    for each in cluster.all("NetworkPolicy"):
        rows = [row for rule in each["spec"].get("ingress", ()) for row in rule.get("ports", ())]
        wanted = [(row["port"], row.get("protocol", "TCP")) for row in rows if "port" in row]
        yield from _unknown(each, cluster.selected(each["spec"]["podSelector"]), wanted)
    for workload, container in cluster.containers():
        for port in _asked_by_the_kubelet(container):
            if port_number([container], port) is None:
                yield f"{where(workload, container)} is asked at port {port}, which it has not"


def _unknown(each: Object, workloads: Iterable[Object], wanted: Iterable[tuple[Any, str]]) -> Iterator[str]:
    for workload in workloads:
        for port, protocol in wanted:
            if port_number(every_container(workload), port, protocol) is None:
                yield f"{name(each)} names port {port}/{protocol}, which {name(workload)} has not"


def _asked_by_the_kubelet(container: Object) -> Iterator[str | int]:
    hooks = container.get("lifecycle", {}).values()
    probes = (value for key, value in container.items() if key.endswith("Probe"))
    for asked in (*probes, *(hook for hook in hooks if isinstance(hook, dict))):
        for how in ("httpGet", "tcpSocket", "grpc"):
            if how in asked:
                yield asked[how]["port"]


def ports_are_stated_once(cluster: Cluster) -> Iterator[str]:
    """Containers of a pod share its address: two on one port, or two ports of one name, and one is not reached."""
    for each in cluster.all(*WORKLOADS):
        rows = ports(*every_container(each))
        numbers = Counter((row["containerPort"], row.get("protocol", "TCP")) for row in rows)
        names = Counter(row["name"] for row in rows if "name" in row)
        for twice in sorted(str(key) for key, count in (*numbers.items(), *names.items()) if count > 1):
            yield f"{name(each)} states the port {twice} more than once"
    for each in cluster.all("Service"):
        for key in ("name", "port"):
            counted = Counter(
                (row.get(key), key == "port" and row.get("protocol", "TCP")) for row in each["spec"]["ports"]
            )
            yield from (f"{name(each)} states {key} {one} twice" for (one, _), count in counted.items() if count > 1)


def processes_listen_where_they_are_asked(cluster: Cluster) -> Iterator[str]:
    """The port `ops` is the one of the environment and of the arguments, on every address of the pod."""
    for each, container in cluster.processes():
        if each["kind"] in ENDING:
            continue
        env, args = variables(container), container.get("args", [])
        listened = {"FANFUSE_OPS_PORT": env.get("FANFUSE_OPS_PORT")}
        listened |= {word: value for word, value in pairwise(args) if word == "--ops-port"}
        for what, value in listened.items():
            if value != str(port_number([container], "ops")):
                yield f"{where(each, container)} listens on {what} {value}, which is not its port ops"
        if env.get("FANFUSE_OPS_HOST") not in _EVERYWHERE:
            yield f"{where(each, container)} listens on {env.get('FANFUSE_OPS_HOST')}: nobody reaches it there"


_LISTENED: Final = {
    "client": ("nats.conf", "listen"),
    "monitor": ("nats.conf", "http"),
    "cluster": ("cluster.conf", "listen"),
}


def servers_listen_where_they_are_asked(cluster: Cluster) -> Iterator[str]:
    """nats.conf and the manifest speak of the same ports."""
    for each, container in cluster.servers():
        for port, (file, key) in _LISTENED.items():
            address = stated(cluster, file, key)
            if not address and file == "cluster.conf":
                continue  # a lone server
            host, _, number = address.rpartition(":")
            if host.strip("[]") not in _EVERYWHERE or number != str(port_number([container], port)):
                yield f"{where(each, container)} listens on {address or 'nothing'} ({file}), which is not its {port}"


def addresses_lead_to_the_bus(cluster: Cluster) -> Iterator[str]:
    """NATS_URL: the plain service of this namespace, and by it the port that servers listen on for clients.

    As `nats` or `nats.fanfuse`, for which the servers' certificate is (deploy/README.md)."""
    wanted = stated(cluster, "nats.conf", "listen").rpartition(":")[2]
    for each, container in cluster.processes():
        address = variables(container).get("NATS_URL", "NATS_URL, unset")
        host, _, port = address.partition("://")[2].rpartition(":")
        called, _, space = host.partition(".")
        service = cluster.get("Service", called)
        meant = service is not None and service["spec"].get("clusterIP") != "None"
        rows = (
            service["spec"]["ports"] if service and meant and space in ("", each["metadata"].get("namespace")) else []
        )
        targets = [row.get("targetPort", row["port"]) for row in rows if str(row["port"]) == port]
        reached = {str(port_number(every_container(one), to)) for one in cluster.behind(service) for to in targets}
        if reached != {wanted}:
            open_at = (
                [f"{row['port']} to {row.get('targetPort')}" for row in service["spec"]["ports"]] if service else []
            )
            found = f"{name(service)} leads {', '.join(open_at)}" if service else "there is no such Service"
            yield f"{where(each, container)} looks for the bus at {address}: {found}"


def routes_lead_to_every_server(cluster: Cluster) -> Iterator[str]:
    """cluster.conf names each server of the StatefulSet by its headless service, and no other."""
    for each, container in cluster.servers():
        named = set(_ROUTE.findall(lines_of(cluster, "cluster.conf")))
        service, port = each["spec"].get("serviceName"), port_number([container], "cluster")
        count = each["spec"].get("replicas", 1)
        there = {f"nats://{each['metadata']['name']}-{at}.{service}:{port}" for at in range(count)}
        wanted = there if count > 1 else set()
        yield from (f"{name(each)} has no server {route}: cluster.conf" for route in sorted(named - wanted))
        yield from (f"{name(each)} is not told of {route}: cluster.conf" for route in sorted(wanted - named))


PORTS: Final = (
    ports_exist,
    ports_are_stated_once,
    processes_listen_where_they_are_asked,
    servers_listen_where_they_are_asked,
    addresses_lead_to_the_bus,
    routes_lead_to_every_server,
)
