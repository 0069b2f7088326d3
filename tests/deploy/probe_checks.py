"""How a pod is watched: probes that ask what answers, in time, and a monitor that scrapes every process.

In: the objects of an overlay. Out: one line per fault, with the object and container that has it.
"""

from collections.abc import Iterator
from typing import Final

from tests.deploy.manifests import ENDING, KEPT, Cluster, is_process, name, pod, seconds, where

_PROBE_S: Final = 5
_OF_PROCESSES: Final = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
"""Liveness looks at no engine and no bus: a dead one must restart nobody."""
_OF_SERVERS: Final = {
    "startupProbe": "/healthz",
    "livenessProbe": "/healthz?js-enabled-only=true",
    "readinessProbe": "/healthz?js-server-only=true",
}
"""Only `/healthz` without conditions looks at every stream: started is who has caught up, and then the next one may go.
Asked for liveness it would restart a server that catches up."""
_HANDLERS: Final = ("httpGet", "tcpSocket", "grpc", "exec")
_STARTS_S: Final = {True: 60, False: 300}
"""What a process needs on a cold, busy node, and a server that reads its streams again: less restarts it for ever."""
_HANGS_S: Final = 3600
_FOUND_DEAD_S: Final = 120
_SCRAPED_S: Final = 60
"""Rates look back five minutes, and alerts fire after one."""


def probes_are_there_and_have_time(cluster: Cluster) -> Iterator[str]:
    """The default of one second restarts what is only busy. The reloader serves nobody and ends by itself."""
    for each in cluster.all(*KEPT):
        beside = [one for one in pod(each).get("initContainers", ()) if one.get("restartPolicy") == "Always"]
        for container in (*pod(each)["containers"], *beside):
            missing = sorted({"startupProbe", "livenessProbe", "readinessProbe"} - container.keys())
            if container["name"] != "reloader" and missing:
                yield f"{where(each, container)} has no {missing}"
    for each, container in cluster.containers():
        for key, probe in container.items():
            if key.endswith("Probe") and probe.get("timeoutSeconds", 1) < _PROBE_S and key != "startupProbe":
                yield f"{where(each, container)} has {probe.get('timeoutSeconds', 1)} s for its {key}"


def probes_ask_what_answers(cluster: Cluster) -> Iterator[str]:
    """Pages that are there, over plain HTTP, each for what it is meant for."""
    for each, container in cluster.containers():
        pages = _OF_PROCESSES if is_process(each) else _OF_SERVERS
        for key, probe in container.items():
            if not key.endswith("Probe"):
                continue
            asked = probe.get("httpGet", {})
            if len([how for how in _HANDLERS if how in probe]) != 1:
                yield f"{where(each, container)} has a {key} that asks nothing, or two things"
            elif asked.get("scheme", "HTTP") != "HTTP" or asked.get("host"):
                yield f"{where(each, container)} is asked by its {key} where it does not listen"
            elif asked.get("path") != pages[key]:
                yield f"{where(each, container)} is asked for {asked.get('path')} by its {key}: {pages[key]}"


def probes_leave_time_and_find_the_dead(cluster: Cluster) -> Iterator[str]:
    """Every `periodSeconds`, and `failureThreshold` times in a row."""
    for each, container in cluster.containers():
        takes = {key: _takes_s(probe) for key, probe in container.items() if key.endswith("Probe")}
        least = _STARTS_S[is_process(each)]
        if not least <= takes.get("startupProbe", least) <= _HANGS_S:
            yield f"{where(each, container)} is restarted when it has not started within {takes['startupProbe']} s"
        for key in ("livenessProbe", "readinessProbe"):
            if not 0 < takes.get(key, 1) <= _FOUND_DEAD_S:
                yield f"{where(each, container)} may be dead for {takes[key]} s until its {key} finds it"


def _takes_s(probe: dict[str, int]) -> int:
    period = probe.get("periodSeconds", 10)
    if period and "timeoutSeconds" in probe:
        period = max(period, probe["timeoutSeconds"])
    return probe.get("initialDelaySeconds", 0) + period * probe.get("failureThreshold", 3)


def every_process_is_scraped(cluster: Cluster) -> Iterator[str]:
    """Alerts speak of every process; one that no monitor selects could be dead for ever."""
    monitors = list(cluster.all("PodMonitor"))
    for monitor in monitors:
        spaces = monitor["spec"].get("namespaceSelector", {}).get("matchNames", [monitor["metadata"].get("namespace")])
        if monitor["metadata"].get("namespace") not in spaces:
            yield f"{name(monitor)} looks in {spaces}, not in its own namespace"
        if not monitor["spec"].get("podMetricsEndpoints"):
            yield f"{name(monitor)} asks for nothing"
        for row in monitor["spec"].get("podMetricsEndpoints", ()):
            if row.get("path", "/metrics") != "/metrics" or row.get("scheme", "http").lower() != "http":
                yield f"{name(monitor)} asks for {row.get('scheme', 'http')} {row.get('path')}: /metrics over http"
            if not 0 < seconds(row.get("interval", "30s")) <= _SCRAPED_S:
                yield f"{name(monitor)} scrapes every {row.get('interval')}: alerts look at the last minute"
            jobs = [rule.get("replacement") for rule in row.get("relabelings", ()) if rule.get("targetLabel") == "job"]
            if jobs != ["fanfuse"]:
                yield f"{name(monitor)} makes the job {jobs}: the alerts speak of fanfuse"
    for each, container in cluster.processes() if monitors or cluster.available else ():
        selected = any(each in cluster.selected(monitor["spec"]["selector"]) for monitor in monitors)
        if each["kind"] not in ENDING and not selected:
            yield f"{where(each, container)} is scraped by nobody"


PROBES: Final = (
    probes_are_there_and_have_time,
    probes_ask_what_answers,
    probes_leave_time_and_find_the_dead,
    every_process_is_scraped,
)
