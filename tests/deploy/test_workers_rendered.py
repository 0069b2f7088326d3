"""`fanfuse deploy workers`: pools, egress and bounds come from the operator's file, and what cannot run is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fanfuse_all_in_one.deploying.workers import Scaling, render_workers
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_cli.main import app
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configfile import read_config
from tests.deploy.rendered import K8S

IMAGE = "fanfuse/backend-workers:0.1.0"
QDRANT = {"engine": "qdrant", "url": "http://qdrant.stores.svc.cluster.local:6333"}
SEARCH = {"engine": "elasticsearch", "url": "https://search.example.org"}
GRAPH = {"engine": "neo4j", "url": "neo4j+s://10.0.0.7"}
FILE: dict[str, Any] = {
    "backends": {
        "vector": {"main": QDRANT, "hot": QDRANT | {"pool": "hot-docs"}, "eu": QDRANT},
        "keyword": {"main": SEARCH, "archive": SEARCH | {"pool": "main"}},
        "graph": {"main": GRAPH},
    },
    "corpora": [
        {
            "id": "docs",
            "tenant_id": "acme",
            "backends": ["vector/eu"],
            "embedder": {"model": "m", "dimensions": 3, "endpoint": "https://embed.example.org:8443/v1"},
        }
    ],
}


SCALING = Scaling()


def rendered(file: dict[str, Any], scaling: Scaling | None = SCALING) -> dict[tuple[str, str], dict[str, Any]]:
    text = render_workers(FanfuseConfig.model_validate(file), scaling, IMAGE)
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text)}


def test_there_is_a_deployment_per_pool_and_two_backends_may_share_one() -> None:
    names = {name for kind, name in rendered(FILE) if kind == "Deployment"}
    assert names == {
        "worker-graph-main", "worker-keyword-main", "worker-vector-eu", "worker-vector-hot-docs", "worker-vector-main",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "egress"),
    [
        ("worker-vector-main", [("stores", 6333)]),
        ("worker-vector-eu", [("stores", 6333), (None, 8443)]),
        ("worker-keyword-main", [(None, 443)]),
        ("worker-graph-main", [("10.0.0.7/32", 7687)]),
    ],
)
def test_a_pool_reaches_its_engines_and_embedders_and_nothing_else(
    name: str, egress: list[tuple[str | None, int]]
) -> None:
    rules = rendered(FILE)["NetworkPolicy", name]["spec"]["egress"]
    assert sorted(map(place, rules), key=str) == sorted(egress, key=str)


def place(rule: dict[str, Any]) -> tuple[str | None, int]:
    (port,) = rule["ports"]
    (to,) = rule.get("to", [{}])
    labels = to.get("namespaceSelector", {}).get("matchLabels", {})
    return labels.get("kubernetes.io/metadata.name") or to.get("ipBlock", {}).get("cidr"), port["port"]


def test_bounds_are_those_that_were_stated() -> None:
    spec = rendered(FILE, Scaling(least=0, most=4, at_lag=3))["ScaledObject", "worker-graph-main"]["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"], spec["fallback"]["replicas"]) == (0, 4, 1)
    assert spec["triggers"][0]["metadata"]["lagThreshold"] == "3"


def test_without_keda_replicas_are_fixed() -> None:
    found = rendered(FILE, None)
    assert not [kind for kind, _ in found if kind == "ScaledObject"]
    assert {each["spec"]["replicas"] for (kind, _), each in found.items() if kind == "Deployment"} == {2}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"graph": {}}, "graph/main is embedded"),
        ({"graph": {"main": GRAPH | {"pool": "a_b"}}}, "name the pool"),
        ({"graph": {"main": GRAPH | {"pool": "a" * 60}}}, "name the pool"),
    ],
)
def test_what_cannot_run_in_a_cluster_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(OperatorError, match=told):
        rendered({"backends": FILE["backends"] | change})


@pytest.mark.parametrize("bounds", [(3, 2, 1), (-1, 2, 1), (0, 0, 1), (1, 2, 0)])
def test_bounds_that_contradict_themselves_are_refused(bounds: tuple[int, int, int]) -> None:
    with pytest.raises(OperatorError, match="can't scale"):
        Scaling(*bounds)


def test_the_passwords_of_the_readme_are_read_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Secret `fanfuse-engines` states user and password of a server that the file names without them."""
    monkeypatch.setenv("FANFUSE__BACKENDS__GRAPH__MAIN__USERNAME", "neo4j")
    monkeypatch.setenv("FANFUSE__BACKENDS__GRAPH__MAIN__PASSWORD", "secret")
    graph = read_config(K8S / "overlays/prod/fanfuse.yaml").config.backends.graph["main"]
    assert graph.username == "neo4j"
    assert graph.password is not None
    assert graph.password.get_secret_value() == "secret"


def test_what_a_shell_states_over_the_file_is_in_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable for a forwarded port would open a policy, or cut the workers off: no pod has it."""
    file = tmp_path / "fanfuse.yaml"
    file.write_text(yaml.safe_dump({"backends": FILE["backends"]}))
    arguments = ["deploy", "workers", "--file", str(file)]
    plain = CliRunner().invoke(app, arguments)
    monkeypatch.setenv("FANFUSE__BACKENDS__VECTOR__MAIN__URL", "http://localhost:6333")
    told = CliRunner().invoke(app, arguments)
    assert (told.exit_code, told.stdout) == (0, plain.stdout)
    assert "FANFUSE__BACKENDS__VECTOR__MAIN__URL" in told.stderr
    assert plain.stderr == ""
