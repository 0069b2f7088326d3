"""The overlays render as the README says, follow strict schemas, and fit each other; each planted mistake is found."""

import copy
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from fanfuse_backend_workers.domain.pools import parse_pools
from fanfuse_contracts import permissions, streams
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.streams import Storage
from fanfuse_runtime.server import find_nats_server
from fanfuse_runtime.settings import RuntimeSettings
from tests.deploy.certificates import write_certificates
from tests.deploy.crds import strict_schema
from tests.deploy.cross_checks import Cluster, pod
from tests.deploy.operating_checks import CHECKS, faults
from tests.deploy.rendered import K8S, OVERLAYS, ROOT, Objects, objects, prepare

POOLS = tuple((kind, "main") for kind in Kind)
CONSUMERS = {
    spec.durable: spec.stream
    for spec in (*streams.CONSUMERS, *(streams.pool_consumer(kind, pool) for kind, pool in POOLS))
}
VERSIONS = ("1.34", "1.35", "1.36", "1.37")
CRDS = {
    ("keda.sh/v1alpha1", "ScaledObject"): "keda_scaledobjects.yaml",
    ("monitoring.coreos.com/v1", "PodMonitor"): "prom_podmonitors.yaml",
    ("monitoring.coreos.com/v1", "PrometheusRule"): "prom_prometheusrules.yaml",
}


def type_of(each: dict[str, Any]) -> tuple[str, str]:
    return each["apiVersion"], each["kind"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("deploy"))


@pytest.fixture(scope="module")
def overlays(root: Path) -> dict[str, Objects]:
    return {overlay: objects(root, overlay) for overlay in OVERLAYS}


@pytest.fixture(scope="module")
def _schemas_read_once() -> Iterator[None]:
    """The validator reads every definition of a release anew for each object."""
    read = kubernetes_validate.utils.schema_contents
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kubernetes_validate.utils, "schema_contents", functools.cache(read))
        yield


@pytest.mark.usefixtures("_schemas_read_once")
@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_follows_the_schema_of_its_release(
    overlays: dict[str, Objects], overlay: str, version: str
) -> None:
    """Strict: an unknown field fails, and so does an unknown kind that no other schema here knows."""
    own = [each for each in overlays[overlay] if type_of(each) not in CRDS]
    assert own
    for each in own:
        kubernetes_validate.validate(each, version, strict=True)


def test_objects_of_operators_follow_their_schemas(overlays: dict[str, Objects], shared: Path) -> None:
    checked = 0
    for each in overlays["prod"]:
        file = CRDS.get(type_of(each))
        if file is not None:
            jsonschema.validate(each, strict_schema(shared / "k8s-schemas" / file, *type_of(each)))
            checked += 1
    assert checked == 3 + len(POOLS) + 3
    broken = next(copy.deepcopy(each) for each in overlays["prod"] if each["kind"] == "ScaledObject")
    broken["spec"]["maxReplicas"] = 3
    with pytest.raises(jsonschema.ValidationError, match="maxReplicas"):
        jsonschema.validate(broken, strict_schema(shared / "k8s-schemas/keda_scaledobjects.yaml", *type_of(broken)))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_objects_fit_each_other_and_contracts(overlays: dict[str, Objects], overlay: str) -> None:
    """DEP-01, DEP-02, NAT-09: names, bounds, grace periods."""
    assert faults(Cluster(overlays[overlay], CONSUMERS)) == []


def found(those: Objects, kind: str, name: str) -> dict[str, Any]:
    return next(each for each in those if (each["kind"], each["metadata"]["name"]) == (kind, name))


def first_container(those: Objects, name: str) -> dict[str, Any]:
    container: dict[str, Any] = pod(found(those, "Deployment", name))["containers"][0]
    return container


def without(kind: str, name: str) -> Callable[[Objects], None]:
    return lambda those: those.remove(found(those, kind, name))


def setting(kind: str, name: str, *path: str | int, to: Any) -> Callable[[Objects], None]:
    def plant(those: Objects) -> None:
        place: Any = found(those, kind, name)
        for key in path[:-1]:
            place = place[key]
        if to is None:
            del place[path[-1]]
        else:
            place[path[-1]] = to

    return plant


def optional_key(those: Objects) -> None:
    (key,) = (each for each in pod(found(those, "Deployment", "fuser"))["volumes"] if each["name"] == "nats-user")
    key["secret"]["optional"] = True


SCALED = ("ScaledObject", "worker-vector-main", "spec")
FUSER = ("Deployment", "fuser", "spec")
POD = (*FUSER, "template", "spec")
SERVER = ("StatefulSet", "nats", "spec", "template", "spec")
WORKER = ("Deployment", "worker-vector-main", "spec")
TRIGGER = (*SCALED, "triggers", 0, "metadata")
EGRESS: tuple[list[dict[str, Any]], ...] = (
    [],
    [{}],
    [{"to": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}], "ports": [{"port": 1}]}],
)
KEYS = ("nats-fusor", "nats-setup")
PLANTED: tuple[tuple[str, Callable[[Objects], None]], ...] = (
    ("selectors_meet_labels", setting(*FUSER, "selector", "matchLabels", to={"app.kubernetes.io/name": "fusor"})),
    ("selectors_meet_labels", setting("Service", "nats", "spec", "selector", to={"app.kubernetes.io/name": "nat"})),
    (
        "selectors_meet_labels",
        setting("NetworkPolicy", "services", "spec", "podSelector", "matchLabels", to={"a": "b"}),
    ),
    ("named_ports_exist", setting("Service", "nats", "spec", "ports", 0, "targetPort", to="clients")),
    ("named_ports_exist", setting(*POD, "containers", 0, "readinessProbe", "httpGet", "port", to="http")),
    ("named_ports_exist", setting("PodMonitor", "fanfuse", "spec", "podMetricsEndpoints", 0, "port", to="metrics")),
    ("named_ports_exist", setting("NetworkPolicy", "nats", "spec", "ingress", 0, "ports", 0, "port", to="nats")),
    ("accounts_exist", without("ServiceAccount", "health")),
    ("one_budget_each", without("PodDisruptionBudget", "worker-graph-main")),
    ("one_budget_each", setting("PodDisruptionBudget", "fuser", "spec", "minAvailable", to=1)),
    ("guarded_by_a_policy", without("NetworkPolicy", "nats")),
    ("guarded_by_a_policy", without("NetworkPolicy", "nothing-by-default")),
    ("scalers_fit", setting(*SCALED, "scaleTargetRef", "name", to="worker-vector-mian")),
    ("scalers_fit", setting(*FUSER, "replicas", to=3)),
    ("scalers_fit", setting(*SCALED, "maxReplicaCount", to=1)),
    ("scalers_fit", setting(*SCALED, "fallback", to=None)),
    ("scalers_fit", setting(*TRIGGER, "consumer", to="worker-vector")),
    ("scalers_fit", setting(*TRIGGER, "stream", to="QUERIES")),
    ("scalers_fit", setting(*TRIGGER, "natsServerMonitoringEndpoint", to="nats.fanfuse.svc.cluster.local:8222")),
    ("scalers_fit", setting(*TRIGGER, "lagThreshold", to=8)),
    ("images_are_fixed", setting(*POD, "containers", 0, "image", to="fanfuse/fuser:latest")),
    ("resources_are_bounded", setting(*POD, "containers", 0, "resources", "limits", to=None)),
    ("pods_are_restricted", setting(*POD, "securityContext", "runAsNonRoot", to=False)),
    ("pods_are_restricted", setting(*POD, "securityContext", "runAsUser", to=0)),
    ("pods_are_restricted", setting(*POD, "containers", 0, "securityContext", "readOnlyRootFilesystem", to=False)),
    ("pods_are_restricted", setting(*POD, "automountServiceAccountToken", to=None)),
    ("references_exist", setting(*POD, "volumes", to=[])),
    ("grace_is_longer_than_the_drain", setting(*POD, "terminationGracePeriodSeconds", to=12)),
    ("probes_are_there_and_have_time", setting(*POD, "containers", 0, "livenessProbe", "timeoutSeconds", to=None)),
    ("probes_are_there_and_have_time", setting(*POD, "containers", 0, "readinessProbe", to=None)),
    (
        "servers_are_caught_up_before_the_next_one_goes",
        setting(*SERVER, "containers", 0, "startupProbe", "httpGet", "path", to="/healthz?js-enabled-only=true"),
    ),
    ("copies_are_as_many_as_servers", setting("StatefulSet", "nats", "spec", "replicas", to=5)),
    (
        "engines_are_known_to_who_speaks_to_them",
        setting(*WORKER, "template", "spec", "containers", 0, "envFrom", to=[]),
    ),
    (
        "engines_are_known_to_who_speaks_to_them",
        setting(*POD, "containers", 0, "envFrom", 0, "secretRef", "name", to="fanfuse-engines"),
    ),
    ("a_pod_waits_for_its_key", optional_key),
    ("what_changes_is_read_again", setting(*SERVER, "shareProcessNamespace", to=None)),
    ("what_changes_is_read_again", setting(*SERVER, "containers", 1, "volumeMounts", 0, "mountPath", to="/etc/other")),
    ("what_changes_is_read_again", setting(*SERVER, "containers", 1, "args", to=["/etc/nats/reload.sh", "/etc/nats"])),
    *(
        ("egress_is_what_a_pod_needs", setting("NetworkPolicy", "worker-vector-main", "spec", "egress", to=rules))
        for rules in EGRESS
    ),
    ("egress_is_what_a_pod_needs", setting("NetworkPolicy", "bus", "spec", "egress", to=[])),
    ("egress_is_what_a_pod_needs", without("NetworkPolicy", "names")),
    *(
        ("nothing_of_the_node_is_shared", setting(*POD, *path, to=to))
        for path, to in (
            (("securityContext", "seccompProfile", "type"), "Unconfined"),
            (("hostNetwork",), True),
            (("hostPID",), True),
            (("containers", 0, "securityContext", "runAsUser"), 0),
            (("containers", 0, "securityContext", "privileged"), True),
            (("containers", 0, "securityContext", "capabilities", "add"), ["SYS_ADMIN"]),
            (("containers", 0, "ports", 0, "hostPort"), 8000),
            (("initContainers",), [{"name": "i", "securityContext": {"runAsNonRoot": False}}]),
            (("volumes", 3, "hostPath"), {"path": "/"}),
        )
    ),
    ("objects_stand_once_in_one_namespace", setting("Deployment", "fuser", "metadata", "namespace", to="default")),
    ("objects_stand_once_in_one_namespace", lambda those: those.append(found(those, "ServiceAccount", "fuser"))),
    *(("keys_are_of_the_process", setting(*POD, "volumes", 1, "secret", "secretName", to=key)) for key in KEYS),
)


@pytest.mark.parametrize(("check", "plant"), PLANTED, ids=[f"{at}-{row[0]}" for at, row in enumerate(PLANTED)])
def test_a_planted_mistake_is_found(overlays: dict[str, Objects], check: str, plant: Callable[[Objects], None]) -> None:
    those = copy.deepcopy(overlays["prod"])
    plant(those)
    assert {fault.partition(":")[0] for fault in faults(Cluster(those, CONSUMERS))} == {check}


def test_every_check_has_a_planted_mistake() -> None:
    assert {check.__name__ for check in CHECKS} == {name for name, _ in PLANTED}


def test_a_renamed_consumer_fails_the_build(overlays: dict[str, Objects]) -> None:
    """DEP-02: in code, not in the manifest that stands in the repository."""
    renamed = {("fuser2" if durable == "fuser" else durable): stream for durable, stream in CONSUMERS.items()}
    told = faults(Cluster(overlays["prod"], renamed))
    assert told == ["scalers_fit: ScaledObject/fuser reads QUERIES/fuser, which nobody creates"]


def test_each_process_is_the_user_that_contracts_name(overlays: dict[str, Objects]) -> None:
    users = {one.user for one in permissions.of_everyone(POOLS, ())} - {permissions.OPERATOR}
    assert users == {stated["FANFUSE_NATS_USER"] for stated in environments(overlays["prod"])}
    for stated in environments(overlays["prod"]):
        known = {name.upper() for name in (f"fanfuse_{field}" for field in RuntimeSettings.model_fields)}
        assert stated.keys() - known <= {"NATS_URL", "FANFUSE_WORKER_POOLS"}
        pools = parse_pools(stated["FANFUSE_WORKER_POOLS"]) if "FANFUSE_WORKER_POOLS" in stated else ()
        for pool in pools:
            assert permissions.user_of_pool(pool.kind, pool.name) == stated["FANFUSE_NATS_USER"]


def test_a_process_creates_only_what_its_user_may(overlays: dict[str, Objects]) -> None:
    stated = environments(overlays["prod"])
    creates = {process["FANFUSE_NATS_USER"]: process.get("FANFUSE_CREATES", "all") for process in stated}
    assert creates.pop(permissions.SETUP) == "all"
    assert creates.pop(permissions.user_of_stage(Stage.HEALTH)) == "memory"
    assert set(creates.values()) == {"nothing"}


def environments(those: Objects) -> Iterator[dict[str, str]]:
    for each in those:
        if each["kind"] in ("Deployment", "Job"):
            yield {row["name"]: row["value"] for row in pod(each)["containers"][0]["env"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_servers_configuration_is_sound(overlays: dict[str, Objects], overlay: str, tmp_path: Path) -> None:
    """nats-server -t on the files that the pod reads, and room for every stream of contracts."""
    config = next(
        each
        for each in overlays[overlay]
        if each["kind"] == "ConfigMap" and each["metadata"]["name"].startswith("nats")
    )
    write_certificates(tmp_path)
    for name, text in config["data"].items():
        (tmp_path / name).write_text(text.replace("/etc/nats-tls", str(tmp_path)))
    done = subprocess.run(
        [find_nats_server(), "-t", "-c", tmp_path / "nats.conf"],
        env={"POD_NAME": "nats-0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_rules_of_the_operator_are_those_of_prometheus() -> None:
    command = [sys.executable, "-m", "tools.prometheus_rule", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_server_has_room_for_every_stream() -> None:
    text = (K8S / "base/nats/nats.conf").read_text()
    for storage, key in ((Storage.MEMORY, "max_memory_store"), (Storage.FILE, "max_file_store")):
        needed = sum(stream.max_bytes or 0 for stream in streams.STREAMS if stream.storage is storage)
        needed += sum(bucket.max_bytes for bucket in streams.BUCKETS) if storage is Storage.FILE else 0
        assert needed <= size(text, key)


def size(text: str, key: str) -> int:
    value = next(line.split(":")[1].strip() for line in text.splitlines() if line.strip().startswith(key))
    return int(value[:-2]) * {"MB": 1024**2, "GB": 1024**3}[value[-2:]]
