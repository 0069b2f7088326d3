"""Dashboards, data source and rules are there from the first start: in compose by mounts, in a cluster by manifests."""

from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from tests.deploy.rendered import objects, prepare
from tests.deploy.shipped import DASHBOARDS, ROOT, RULES, cluster_rules, dashboards, rules

DEPLOY: Final = ROOT / "deploy"
COMPOSE: Final = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text(encoding="utf-8"))["services"]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def mounts(service: str) -> dict[PurePosixPath, Path]:
    """What a container sees of the repository: path there, path here."""
    pairs = (volume.split(":") for volume in COMPOSE[service]["volumes"] if volume.startswith("."))
    return {PurePosixPath(there): (DEPLOY / "compose" / here).resolve() for here, there, *_ in pairs}


def test_compose_gives_grafana_its_data_source_and_both_dashboards() -> None:
    seen = mounts("grafana")
    provisioning = seen[PurePosixPath("/etc/grafana/provisioning")]
    (source,) = read(provisioning / "datasources/prometheus.yaml")["datasources"]
    url = urlsplit(source["url"])
    assert (source["type"], source["isDefault"]) == ("prometheus", True)
    assert url.hostname in COMPOSE
    assert any(port.split(":")[-1] == str(url.port) for port in COMPOSE[url.hostname]["ports"])
    (provider,) = read(provisioning / "dashboards/fanfuse.yaml")["providers"]
    folder = seen[PurePosixPath(provider["options"]["path"])]
    assert sorted(folder.glob("*.json")) == DASHBOARDS
    for document in dashboards().values():
        (variable,) = (each for each in document["templating"]["list"] if each["type"] == "datasource")
        assert variable["query"] == source["type"], "a panel asks whichever Prometheus is chosen, at first the default"


def test_compose_gives_prometheus_every_rule() -> None:
    (config,) = (path for path in mounts("prometheus").values())
    patterns = read(config / "prometheus.yml")["rule_files"]
    assert sorted(path for pattern in patterns for path in config.glob(pattern)) == sorted(RULES.glob("*.yaml"))


def test_compose_gives_alertmanager_its_configuration_and_prometheus_its_address() -> None:
    seen = mounts("alertmanager")
    config = read(seen[PurePosixPath("/etc/alertmanager/alertmanager.yml")])
    (templates,) = map(PurePosixPath, config["templates"])
    assert list(seen[templates.parent].glob(templates.name))
    addresses = [PurePosixPath(each["slack_configs"][0]["api_url_file"]) for each in config["receivers"]]
    for address in addresses:
        # The files themselves are the operator's and are in no repository.
        assert (seen[address.parent] / ".gitignore").is_file()
    assert {address.name for address in addresses} == {rule.labels["severity"] for rule in rules() if rule.alert}
    (told,) = read(RULES.parent / "prometheus.yml")["alerting"]["alertmanagers"]
    (host, port) = told["static_configs"][0]["targets"][0].split(":")
    assert COMPOSE[host]["ports"] == [f"127.0.0.1:{port}:{port}"]


def test_the_manifests_hold_dashboards_rules_and_scraping(tmp_path: Path) -> None:
    """With the component `monitoring`, which the overlay `prod` has."""
    applied = objects(prepare(tmp_path), "prod")
    (boards,) = (each for each in applied if each["metadata"]["name"] == "fanfuse-dashboards")
    assert boards["kind"] == "ConfigMap"
    assert boards["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert boards["data"] == {path.name: path.read_text(encoding="utf-8") for path in DASHBOARDS}
    # `kubectl apply` keeps a copy in an annotation, which may hold 256 kB.
    assert sum(map(len, boards["data"].values())) < 200_000
    found = [each for each in applied if each["kind"] == "PrometheusRule"]
    groups = [group for each in found for group in each["spec"]["groups"]]
    named = [one.get("alert") or one["record"] for group in groups for one in group["rules"]]
    assert sorted(named) == sorted(one.name for one in (*rules(), *cluster_rules()))
    assert [each for each in applied if each["kind"] == "PodMonitor"]
