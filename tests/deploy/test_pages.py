"""What deploy/README.md and deploy/OPERATING.md have people paste fits the manifests: names, overlay changes, links.

In: both pages. Out: their snippets, rendered or compared. Nothing here talks to a cluster.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
import yaml

from fanfuse_contracts import permissions
from tests.deploy.manifests import Cluster, name, pod
from tests.deploy.operating_checks import faults
from tests.deploy.planting import CONSUMERS
from tests.deploy.rendered import K8S, README, ROOT, Objects, fanfuse, objects, prepare
from tests.deploy.shipped import cluster_rules

OPERATING = README.with_name("OPERATING.md")
PAGES = {page.name: page.read_text(encoding="utf-8") for page in (README, OPERATING)}
SNIPPETS: list[str] = [one for page in PAGES.values() for one in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]


def snippet(first_line: str) -> str:
    (found,) = (one for one in SNIPPETS if one.startswith(first_line))
    return found


def certificate_names() -> set[str]:
    """Those that step 4 puts into the certificate of the bus."""
    found = re.search(r"subjectAltName=(\S+?)\\n", PAGES["README.md"])
    assert found is not None
    return {each.removeprefix("DNS:") for each in found[1].split(",")}


def is_held(host: str, names: set[str]) -> bool:
    """As TLS compares: a star stands for one label."""
    return host in names or f"*.{host.partition('.')[2]}" in names


def test_every_address_of_the_bus_is_in_its_certificate(overlays: dict[str, Objects]) -> None:
    """Services, servers among themselves, NACK, tenants, the operator and whoever indexes in the cluster."""
    account = yaml.safe_load((K8S / "components/nack/account.yaml").read_text(encoding="utf-8"))
    texts = [yaml.safe_dump_all(overlays["prod"]), *account["spec"]["servers"], *PAGES.values()]
    urls = {url for text in texts for url in re.findall(r"\b(?:nats|tls)://[\w.-]+:\d+", text)}
    hosts = {urlsplit(url).hostname or "" for url in urls} - {"127.0.0.1"}  # compose has no TLS
    assert {"nats", "nats.fanfuse", "nats-1.nats-headless", "localhost"} <= hosts
    assert [host for host in sorted(hosts) if not is_held(host, certificate_names())] == []


def test_cert_manager_makes_the_same_certificate() -> None:
    stated = yaml.safe_load(snippet("apiVersion: cert-manager.io/v1"))["spec"]
    assert set(stated["dnsNames"]) == certificate_names()
    assert (stated["secretName"], stated["usages"]) == ("nats-tls", ["server auth", "client auth"])


def changed(folder: Path, snippet_of: str) -> Objects:
    """The overlay `prod` after a snippet was put into its kustomization."""
    root = prepare(folder)
    prod = root / "overlays" / "prod"
    conf = (root / "base/nats/nats.conf").read_text(encoding="utf-8")
    (prod / "nats.conf").write_text(conf.replace("max_file_store: 10GB", "max_file_store: 100GB"))
    stated = yaml.safe_load((prod / "kustomization.yaml").read_text(encoding="utf-8"))
    for key, rows in yaml.safe_load(snippet(f"# into kustomization.yaml: {snippet_of}")).items():
        new = {row["name"] for row in rows if "name" in row}
        stated[key] = [row for row in stated.get(key, ()) if row["name"] not in new] + rows
    (prod / "kustomization.yaml").write_text(yaml.safe_dump(stated))
    return objects(root, "prod")


def test_a_private_registry_serves_every_pod(tmp_path: Path) -> None:
    those = changed(tmp_path, "private registry")
    accounts = [each for each in those if each["kind"] == "ServiceAccount"]
    assert len(accounts) > 5
    assert all(each["imagePullSecrets"] == [{"name": "registry"}] for each in accounts)
    (servers,) = (each for each in those if each["kind"] == "StatefulSet")
    assert {one["image"] for one in pod(servers)["containers"]} == {"registry.example.org/nats:2.15.1-alpine"}


def test_a_larger_disk_has_its_alert_and_its_volume(tmp_path: Path) -> None:
    """The alert at four fifths of `max_file_store`; everything else about the overlay holds as before."""
    those = changed(tmp_path, "disk of the bus")
    assert faults(Cluster(those, CONSUMERS, available=True)) == []
    (conf,) = (each["data"]["nats.conf"] for each in those if "nats.conf" in each.get("data", {}))
    assert "max_file_store: 100GB" in conf
    (rule,) = (each for each in those if name(each) == "PrometheusRule/fanfuse-volumes")
    told, _, threshold = rule["spec"]["groups"][0]["rules"][0]["expr"].rpartition("> ")
    assert float(threshold) == 0.8 * 100e9
    (shipped,) = cluster_rules()
    assert told == shipped.expr.rpartition("> ")[0]


def test_the_authority_of_an_engine_reaches_the_pods(tmp_path: Path) -> None:
    """Beside the file that names it, so that a relative `ca_file` is found."""
    assert "files: [fanfuse.yaml, elastic-ca.pem]" in re.sub(r"\s+", " ", PAGES["README.md"])
    root = prepare(tmp_path)
    prod = root / "overlays" / "prod"
    (prod / "elastic-ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    kustomization = prod / "kustomization.yaml"
    text = kustomization.read_text(encoding="utf-8")
    kustomization.write_text(text.replace("files: [fanfuse.yaml]", "files: [fanfuse.yaml, elastic-ca.pem]"))
    (file,) = (each for each in objects(root, "prod") if "fanfuse.yaml" in each.get("data", {}))
    assert "elastic-ca.pem" in file["data"]


def cron_job() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(snippet("# index.yaml"))
    return found


@pytest.mark.parametrize("version", ["1.34", "1.37"])
def test_indexing_inside_the_cluster_follows_the_schema(version: str) -> None:
    job = cron_job()
    assert job["kind"] == "CronJob"
    kubernetes_validate.validate(job, version, strict=True)
    job["spec"]["shedule"] = job["spec"].pop("schedule")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, version, strict=True)


def test_indexing_inside_the_cluster_reaches_the_bus_as_the_operator(overlays: dict[str, Objects]) -> None:
    job = cron_job()["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = job["containers"]
    env = {row["name"]: row["value"] for row in container["env"]}
    assert env["FANFUSE_NATS_USER"] == permissions.OPERATOR
    assert {volume["name"] for volume in job["volumes"]} == {mount["name"] for mount in container["volumeMounts"]}
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    paths = (env["FANFUSE_NATS_NKEY"], env["FANFUSE_NATS_CA_FILE"], container["args"][-2])
    assert {str(Path(path).parent) for path in paths} <= mounted
    (policy,) = (each for each in overlays["prod"] if name(each) == "NetworkPolicy/nats")
    let_in = [source for rule in policy["spec"]["ingress"] for source in rule["from"]]
    assert {"namespaceSelector": {"matchLabels": {"fanfuse.dev/tenants": "true"}}} in let_in
    assert f"label namespace {cron_job()['metadata']['namespace']} fanfuse.dev/tenants=true" in PAGES["OPERATING.md"]


def test_what_apply_leaves_of_a_pool_is_what_the_page_deletes(tmp_path: Path) -> None:
    found = re.search(
        r"for kind in (.*); do\n +kubectl -n fanfuse delete \"\$kind\" worker-vector-hot", PAGES["OPERATING.md"]
    )
    assert found is not None
    stated = (K8S / "overlays/prod/fanfuse.yaml").read_text(encoding="utf-8")
    (tmp_path / "f.yaml").write_text(stated.replace("main:", "hot:", 1))
    made = yaml.safe_load_all(fanfuse(tmp_path, "deploy", "workers", "--file", "f.yaml"))
    kinds = {each["kind"].lower() for each in made if each["metadata"]["name"] == "worker-vector-hot"}
    assert kinds == set(found[1].split())


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links(page: Path) -> list[str]:
    found = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    return [target for target in found if not target.startswith("http")]


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not anchor or not file.exists():
        return file.exists()
    headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return anchor in {slug(heading) for heading in headings}


def test_every_link_of_these_pages_and_of_the_docs_leads_somewhere() -> None:
    assert min(len(links(page)) for page in (README, OPERATING)) > 20
    pages = (README, OPERATING, ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    for page in pages:
        assert [target for target in links(page) if not leads_somewhere(page, target)] == [], page
