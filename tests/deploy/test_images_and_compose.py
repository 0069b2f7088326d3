"""The Dockerfile and the compose file: linted, and of one mind with contracts, with Prometheus and with each other."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from fanfuse_contracts import limits
from fanfuse_contracts.backends import BackendConfig
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_runtime.configfile import read_config
from fanfuse_runtime.settings import RuntimeSettings
from tests.deploy.rendered import ROOT, Objects, objects, prepare

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())["services"]
PROCESSES = {stage.value for stage in Stage}
MAKEFILE = (ROOT / "Makefile").read_text()


def test_hadolint_finds_no_fault_in_the_dockerfile() -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    done = subprocess.run(
        [hadolint, "--failure-threshold", "info", DEPLOY / "docker/Dockerfile"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_every_image_that_anything_runs_is_one_that_make_builds(tmp_path: Path) -> None:
    built = re.search(r"^IMAGES := (.+)$", MAKEFILE, re.MULTILINE)
    tag = re.search(r"^TAG \?= (.+)$", MAKEFILE, re.MULTILINE)
    assert built
    assert tag
    known = {f"fanfuse/{name}:{tag[1]}" for name in built[1].split()}
    root = prepare(tmp_path)
    run = {service["image"] for service in COMPOSE.values()}
    run |= {image for overlay in ("dev", "prod") for image in images(objects(root, overlay))}
    assert {image for image in run if image.startswith("fanfuse/")} == known


def images(those: Objects) -> set[str]:
    templates = (each["spec"]["template"]["spec"] for each in those if "template" in each.get("spec", {}))
    return {container["image"] for spec in templates for container in spec["containers"]}


def test_the_image_holds_what_the_build_reads() -> None:
    """The workspace's members, and nothing that a checkout may hold beside them."""
    let_in = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    members = {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/pyproject.toml") if path.parent.name != ".venv"}
    members |= {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/*/pyproject.toml")}
    assert {"pyproject.toml", "uv.lock", *members} <= let_in
    assert not let_in & {".git", ".venv", "tests", "bench"}


def test_compose_runs_all_five_services_under_the_names_that_prometheus_asks() -> None:
    scraped = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"][0]
    asked = scraped["dns_sd_configs"][0]
    assert set(asked["names"]) == PROCESSES <= COMPOSE.keys()
    dockerfile = (DEPLOY / "docker/Dockerfile").read_text()
    assert f"FANFUSE_OPS_PORT={asked['port']}" in dockerfile


def test_each_process_of_compose_is_restricted_and_has_time_to_drain() -> None:
    for name in PROCESSES:
        stated = COMPOSE[name]
        assert stated["read_only"] is True
        assert stated["cap_drop"] == ["ALL"]
        assert int(stated["stop_grace_period"].removesuffix("s")) > limits.DRAIN_TIMEOUT_S
        known = {f"FANFUSE_{field.upper()}" for field in RuntimeSettings.model_fields}
        plain = {key for key in stated["environment"] if key.startswith("FANFUSE_") and "__" not in key}
        assert plain <= known


def test_only_health_and_the_setup_step_create_anything() -> None:
    creates = {name: stated["environment"]["FANFUSE_CREATES"] for name, stated in COMPOSE.items() if "<<" not in stated
               if "FANFUSE_CREATES" in stated.get("environment", {})}  # fmt: skip
    assert {name for name, what in creates.items() if what != "nothing"} == {"setup", "health"}


def test_the_configuration_speaks_of_the_engines_that_compose_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFUSE__BACKENDS__GRAPH__MAIN__PASSWORD", "secret")
    config = read_config(DEPLOY / "compose/fanfuse.yaml").config
    for kind in Kind:
        backend: BackendConfig = config.backends.known(kind)["main"]
        host = re.search(r"//([^:]+):", backend.url or "")
        assert host
        assert host[1] in COMPOSE


def test_engines_are_those_that_tests_know() -> None:
    tested = yaml.safe_load((DEPLOY / "compose/engines.yaml").read_text())["services"]
    for name in ("qdrant", "elasticsearch", "neo4j"):
        assert COMPOSE[name]["image"] == tested[name]["image"]


def test_docker_reads_the_compose_file() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no Docker Compose here to read the file")
    command = [docker, "compose", "-f", str(DEPLOY / "compose/compose.yaml"), "--profile", "tools", "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
