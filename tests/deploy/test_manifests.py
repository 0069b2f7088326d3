"""The overlays render as the README says, follow strict schemas, and fit each other (test_planted_mistakes.py)."""

import copy
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from fanfuse_all_in_one.deploying.pools import pools_of
from fanfuse_backend_workers.domain.pools import parse_pools
from fanfuse_contracts import permissions, streams
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.server import find_nats_server
from fanfuse_runtime.settings import RuntimeSettings
from tests.deploy.certificates import write_certificates
from tests.deploy.crds import strict_schema
from tests.deploy.manifests import Cluster, pod
from tests.deploy.operating_checks import faults
from tests.deploy.planting import CONSUMERS, POOLS
from tests.deploy.rendered import OVERLAYS, ROOT, Objects, objects, prepare

VERSIONS = ("1.34", "1.35", "1.36", "1.37")
CRDS = {
    ("keda.sh/v1alpha1", "ScaledObject"): "keda_scaledobjects.yaml",
    ("monitoring.coreos.com/v1", "PodMonitor"): "prom_podmonitors.yaml",
    ("monitoring.coreos.com/v1", "PrometheusRule"): "prom_prometheusrules.yaml",
}


def type_of(each: dict[str, Any]) -> tuple[str, str]:
    return each["apiVersion"], each["kind"]


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
    assert faults(Cluster(overlays[overlay], CONSUMERS, available=overlay == "prod")) == []


OTHER = """
backends:
  vector:
    main: {engine: qdrant, url: "http://qdrant.stores.svc.cluster.local:6333"}
    hot: {engine: qdrant, url: "http://qdrant.stores.svc.cluster.local:6333", pool: hot-docs}
  keyword:
    main: {engine: elasticsearch, url: "https://search.example.org"}
    archive: {engine: elasticsearch, url: "https://search.example.org", pool: main}
  graph:
    main: {engine: neo4j, url: "neo4j+s://10.0.0.7"}
corpora:
  - id: docs
    tenant_id: acme
    backends: [vector/main, keyword/main]
    embedder: {model: m, dimensions: 3, endpoint: "https://embed.example.org:8443/v1"}
"""


def test_an_operators_own_file_makes_objects_that_fit_too(tmp_path: Path) -> None:
    """Pools of their own and shared ones, engines outside of the cluster, an embedder."""
    those = objects(prepare(tmp_path, OTHER), "prod")
    pools = pools_of(FanfuseConfig.model_validate(yaml.safe_load(OTHER)))
    consumers = CONSUMERS | {spec.durable: spec.stream for spec in (streams.pool_consumer(*pool.id) for pool in pools)}
    assert [pool.name for pool in pools] == ["main", "main", "hot-docs", "main"]
    assert faults(Cluster(those, consumers, available=True)) == []


def test_a_renamed_consumer_fails_the_build(overlays: dict[str, Objects]) -> None:
    """DEP-02: in code, not in the manifest that stands in the repository."""
    renamed = {("fuser2" if durable == "fuser" else durable): stream for durable, stream in CONSUMERS.items()}
    told = faults(Cluster(overlays["prod"], renamed, available=True))
    assert told == ["triggers_read_their_targets_work: ScaledObject/fuser reads QUERIES/fuser, which nobody creates"]


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
