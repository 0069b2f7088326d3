"""What every cluster accepts and what hurts at night: stops, updates, jobs, servers and what they store; all checks.

In: the objects of an overlay. Out: one line per fault, with the object that has it.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from fanfuse_contracts import limits
from fanfuse_contracts.permissions import SETUP
from tests.deploy.alert_checks import ALERTS
from tests.deploy.boundary_checks import BOUNDARIES
from tests.deploy.container_checks import CONTAINERS
from tests.deploy.file_checks import FILES
from tests.deploy.granted_checks import GRANTED
from tests.deploy.identity_checks import IDENTITIES, the_operators_file_is_valid
from tests.deploy.manifests import (
    ENDING,
    KEPT,
    WORKLOADS,
    Cluster,
    creates,
    is_process,
    name,
    pod,
    quantity,
    seconds,
    variables,
    where,
)
from tests.deploy.nats_conf import seconds_of, stated
from tests.deploy.port_checks import PORTS
from tests.deploy.probe_checks import PROBES
from tests.deploy.scaler_checks import SCALING
from tests.deploy.selecting_checks import SELECTING
from tests.deploy.store_checks import STORES
from tests.deploy.word_checks import WORDS

_SLEEP: Final = re.compile(r"\bsleep (\d+(?:\.\d+)?)([smh]?)\b")
_CLOSING_S: Final = 5.0
"""What a process takes to close its connection (fanfuse_runtime.connection) after its drain, a server its stores."""
_STARTS_S: Final = 120
_HELD_UP_S: Final = 600
_GRACE_S: Final = 30
"""Where nothing is stated."""
_LAME_DUCK_S: Final = (("lame_duck_grace_period", 10.0), ("lame_duck_duration", 120.0))
"""What nats-server takes where nothing is stated."""
_LOG_KEPT_S: Final = 600
"""deploy/README.md waits five minutes for the job to be there and done."""


def faults(cluster: Cluster) -> list[str]:
    """Every fault of every check; of an operator's file that can't be read only that, for the others read it."""
    unread = [f"{the_operators_file_is_valid.__name__}: {fault}" for fault in the_operators_file_is_valid(cluster)]
    return unread or [f"{check.__name__}: {fault}" for check in CHECKS for fault in check(cluster)]


def grace_is_longer_than_the_stop(cluster: Cluster) -> Iterator[str]:
    """NAT-09: what waits before the signal counts too; then drain and close, or lame duck and stores; then the kill."""
    for each in cluster.all(*KEPT):
        containers = pod(each)["containers"]
        waits = max(_waits_s(container.get("lifecycle", {}).get("preStop", {})) for container in containers)
        takes = waits + _CLOSING_S
        if is_process(each):
            takes += quantity(variables(containers[0]).get("FANFUSE_DRAIN_TIMEOUT_S", limits.DRAIN_TIMEOUT_S))
        if each["kind"] == "StatefulSet":
            takes += sum(seconds_of(cluster, key, default) for key, default in _LAME_DUCK_S)
        grace = pod(each).get("terminationGracePeriodSeconds", _GRACE_S)
        if grace <= takes:
            yield f"{name(each)} is killed after {grace} s, and takes {takes:g} s to stop"
        probes = [row for one in containers for key, row in one.items() if key.endswith("Probe")]
        if any(probe.get("terminationGracePeriodSeconds", grace) < grace for probe in probes):
            yield f"{name(each)} is killed sooner by a probe than it takes to stop"
        if grace > _HELD_UP_S:
            yield f"{name(each)} may hold up the drain of its node for {grace} s"


def _waits_s(hook: dict[str, Any]) -> float:
    """How long a preStop takes by its own statement."""
    if "sleep" in hook:
        return float(hook["sleep"]["seconds"])
    waits = _SLEEP.findall(" ".join(hook.get("exec", {}).get("command", ())))
    return sum(seconds(f"{number}{unit or 's'}") for number, unit in waits)


def servers_send_clients_away_before_they_stop(cluster: Cluster) -> Iterator[str]:
    """Lame duck by the pid file that the server writes; and SIGTERM for all, which is what drains."""
    for each, container in cluster.servers():
        command = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", "it has no preStop")
        if command != ["nats-server", f"-sl=ldm={stated(cluster, 'nats.conf', 'pid_file')}"]:
            yield f"{where(each, container)} cuts its clients off when it stops: {command}"
    for each, container in cluster.containers():
        if container.get("lifecycle", {}).get("stopSignal", "SIGTERM") != "SIGTERM":
            yield f"{where(each, container)} is not stopped by SIGTERM, which drains"


def pods_run_as_their_kind_wants(cluster: Cluster) -> Iterator[str]:
    """Fields that are fit for another kind of workload, or that keep one from running or changing."""
    for each in cluster.all(*WORKLOADS):
        policy = pod(each).get("restartPolicy", "Always")
        if policy not in (("Never", "OnFailure") if each["kind"] in ENDING else ("Always",)):
            yield f"{name(each)} can't have the restartPolicy {policy}"
        if each["kind"] in KEPT:
            update = each["spec"].get("updateStrategy", {})
            partition = update.get("rollingUpdate", {}).get("partition", 0)
            if each["spec"].get("paused") or update.get("type") == "OnDelete" or partition:
                yield f"{name(each)} is not updated by an apply: it is paused, or its strategy keeps pods as they are"
            if each["spec"].get("progressDeadlineSeconds", 600) <= max(
                each["spec"].get("minReadySeconds", 0), _STARTS_S
            ):
                yield f"{name(each)} counts as failed before it can count as available"
            if "activeDeadlineSeconds" in pod(each):
                yield f"{name(each)} ends after {pod(each)['activeDeadlineSeconds']} s"
        elif each["kind"] in ("CronJob", "Pod"):
            yield f"{name(each)} is of a kind that nothing here needs: nobody starts it again, or waits for it"


def jobs_try_until_the_bus_is_there(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all("Job"):
        spec, args = each["spec"], pod(each)["containers"][0].get("args", [])
        if spec.get("suspend") or spec.get("parallelism", 1) != 1 or spec.get("completions", 1) != 1:
            yield f"{name(each)} does not run once: suspend, parallelism or completions"
        if spec.get("backoffLimit", 6) < 3:
            yield f"{name(each)} gives up after {spec.get('backoffLimit')} tries, while the servers may be starting yet"
        if spec.get("ttlSecondsAfterFinished", _LOG_KEPT_S) < _LOG_KEPT_S:
            yield f"{name(each)} is gone before anybody has seen whether it was done"
        if args[-2:-1] != ["--within"] or not args[-1].isdigit():
            yield f"{name(each)} does not say how long it waits for the bus: {args}"
        elif spec.get("activeDeadlineSeconds", _LOG_KEPT_S) < int(args[-1]) * 3:
            yield f"{name(each)} is ended before it has tried three times"


def somebody_creates_what_all_wait_for(cluster: Cluster) -> Iterator[str]:
    """Streams and consumers are made by who may create them: the user SETUP, or anybody where there are no users."""
    creators = [each for each, container in cluster.processes() if creates(each, container) == "all"]
    if not creators:
        yield "Job/setup: nobody creates the streams"
    for each, container in cluster.processes():
        user = variables(container).get("FANFUSE_NATS_USER")
        if creates(each, container) == "all" and user not in (None, SETUP):
            yield f"{where(each, container)} would create streams, which its user {user} may not"


OPERATING: Final = (
    grace_is_longer_than_the_stop,
    servers_send_clients_away_before_they_stop,
    pods_run_as_their_kind_wants,
    jobs_try_until_the_bus_is_there,
    somebody_creates_what_all_wait_for,
)
CHECKS: Final = (
    *SELECTING,
    *PORTS,
    *SCALING,
    *CONTAINERS,
    *PROBES,
    *ALERTS,
    *FILES,
    *IDENTITIES,
    *GRANTED,
    *BOUNDARIES,
    *STORES,
    *WORDS,
    *OPERATING,
)
