"""Dashboards, rules and runbooks hold together: valid, fresh, and every metric they name is one that is exported."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import typer
import yaml

from fanfuse_cli.main import app
from fanfuse_contracts.metrics import METRICS, MetricKind
from fanfuse_runtime.metrics import Metrics
from tests.deploy.shipped import (
    ALERT_TESTS,
    CLUSTER_RULES,
    ROOT,
    RULES,
    RUNBOOKS,
    cluster_rules,
    dashboards,
    filled,
    panel_queries,
    rules,
)
from tests.servers.maven import CACHE
from tests.servers.prometheus import tool

GRAFANA_SCHEMA, TYPESCRIPT = "13.2.3", "5.9.3"
SUFFIXES = {MetricKind.HISTOGRAM: ("_bucket", "_count", "_sum")}
EXPORTED = {f"{spec.name}{suffix}" for spec in METRICS for suffix in SUFFIXES.get(spec.kind, ("",))} | {"up"}
LABELS = {
    f"{spec.name}{suffix}": {label for label, _ in spec.labels} | ({"le"} if suffix == "_bucket" else set())
    for spec in METRICS
    for suffix in SUFFIXES.get(spec.kind, ("",))
} | {"up": {"job"}}


def expressions() -> list[tuple[str, str]]:
    """Name and expression of every query and rule."""
    asked = [(query.name, filled(query.expr, kind="vector", backend="main")) for query in panel_queries()]
    return [*asked, *((rule.name, rule.expr) for rule in rules())]


def selectors(node: Any) -> Iterator[Any]:
    """Every vector selector below a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        below = getattr(node, name, None)
        if below is not None and not isinstance(below, str):
            yield from selectors(below)
    for argument in getattr(node, "args", None) or ():
        yield from selectors(argument)


@pytest.fixture(scope="module")
def promtool() -> str:
    return tool("promtool")


def run(*command: str | Path, stdin: bytes | None = None) -> str:
    done = subprocess.run([str(part) for part in command], input=stdin, capture_output=True, check=False, timeout=200)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


def test_dashboards_are_what_the_panels_say() -> None:
    """`python -m tools.dashboards` writes them."""
    command = [sys.executable, "-m", "tools.dashboards", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "expr"), expressions())
def test_every_metric_and_label_of_an_expression_is_exported(name: str, expr: str) -> None:
    """OBS-02: a misspelt name would show an empty panel, or an alert that never fires."""
    recorded = {rule.name for rule in rules() if not rule.alert}
    found = list(selectors(promql_parser.parse(expr)))
    assert found, f"{name} asks for nothing"
    for selector in found:
        if selector.name in recorded:
            continue
        assert selector.name in EXPORTED, f"{name}: nothing exports {selector.name}"
        asked = {matcher.name for matcher in selector.matchers.matchers}
        assert asked <= LABELS[selector.name], f"{name}: {selector.name} has no label {asked - LABELS[selector.name]}"


def test_every_metric_is_shown_or_alerted_on() -> None:
    """A metric nobody looks at is only a cost."""
    used = {selector.name for _, expr in expressions() for selector in selectors(promql_parser.parse(expr))}
    shown = {re.sub(r"_(bucket|count|sum)$", "", name) for name in used}
    assert {spec.name for spec in METRICS} - shown == set()


AS_JSON = """import type { Dashboard } from '@grafana/schema';
// In JSON an enumeration is its values.
type Json<T> = T extends string ? `${T}`
  : T extends (infer U)[] ? Json<U>[]
  : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
"""


def test_panels_say_what_they_show() -> None:
    for name, document in dashboards().items():
        assert document["uid"].startswith("fanfuse-"), name
        shown = [panel for panel in document["panels"] if panel["type"] != "row"]
        assert len({panel["id"] for panel in document["panels"]}) == len(document["panels"])
        for panel in shown:
            assert panel["title"]
            assert panel["description"].endswith("."), panel["title"]
            assert panel["fieldConfig"]["defaults"]["unit"]
            assert panel["datasource"]["uid"] == "${datasource}"
        titles = [panel["title"] for panel in shown]
        assert len(titles) > 8


FIRES_AT = {
    "bm25_fallback": ("FanfuseBm25Fallback", 0.05),
    "Failed or expired": ("FanfuseAnswersWithoutResult", 0.02),
    "Answer p95": ("FanfuseAnswersSlow", 2),
    "Join completeness": ("FanfuseJoinIncomplete", 0.95),
}
"""The alert of a figure, and the value at which it fires."""


def test_a_figure_is_red_where_its_alert_fires() -> None:
    """Without thresholds of its own, Grafana shows 100 answers a second in red and a share of 100 % in green."""
    fires = {rule.name: rule.expr for rule in rules() if rule.alert}
    red = {}
    for document in dashboards().values():
        for panel in (each for each in document["panels"] if each["type"] == "stat"):
            stated = panel["fieldConfig"]["defaults"]
            assert (stated["color"]["mode"], stated["noValue"]) == ("thresholds", "no traffic"), panel["title"]
            steps = stated["thresholds"]["steps"]
            assert [step["value"] for step in steps] == [None, *sorted(step["value"] for step in steps[1:])]
            # The first value of red; where less is worse, the first that is not.
            bad = [step["color"] == "red" for step in steps]
            red[panel["title"]] = steps[bad.index(not bad[0])]["value"] if True in bad else None
    for title, (alert, value) in FIRES_AT.items():
        assert red[title] == value
        assert re.search(rf"[<>] {value}$", fires[alert].strip()), alert


def test_rates_use_grafanas_own_interval() -> None:
    for query in panel_queries():
        for window in re.findall(r"\[([^\]]+)\]", query.expr):
            assert window in {"$__rate_interval", "$__range"}, query.name


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    alerts = {rule.name: rule for rule in (*rules(), *cluster_rules()) if rule.alert}
    for name, rule in alerts.items():
        assert rule.annotations["runbook"] == f"docs/runbooks/{name}.md"
        assert rule.labels["severity"] in {"page", "ticket"}
    pages = {path.stem: path.read_text(encoding="utf-8") for path in RUNBOOKS.glob("Fanfuse*.md")}
    assert pages.keys() == alerts.keys()
    for name, text in pages.items():
        assert text.startswith(f"# {name}\n")
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == ["What it means", "How to see it", "What to do"], name
        for metric in re.findall(r"\bfanfuse_[a-z0-9_]+", text):
            assert metric in EXPORTED | {spec.name for spec in METRICS}, f"{name}: {metric}"


def test_every_alert_has_a_test_with_and_without_traffic() -> None:
    document = yaml.safe_load(ALERT_TESTS.read_text(encoding="utf-8"))
    cases = [case for test in document["tests"] for case in test.get("alert_rule_test", ())]
    names = {rule.name for rule in rules() if rule.alert}
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == names
    quiet = document["tests"][0]
    assert quiet["name"].startswith("without traffic")
    assert {case["alertname"] for case in quiet["alert_rule_test"] if not case["exp_alerts"]} == names


def test_promtool_finds_no_fault_in_the_rules(promtool: str) -> None:
    assert "SUCCESS" in run(promtool, "check", "rules", "--lint=all", "--lint-fatal", *sorted(RULES.glob("*.yaml")))
    assert "SUCCESS" in run(promtool, "check", "config", RULES.parent / "prometheus.yml")


def test_every_alert_fires_when_it_should_and_only_then(promtool: str) -> None:
    """OBS-02: zero, no traffic and nothing scraped are three different things."""
    assert "SUCCESS" in run(promtool, "test", "rules", ALERT_TESTS)


VOLUMES = """
rule_files: [rules.yaml]
tests:
  - interval: 1m
    input_series:
      - series: kubelet_volume_stats_used_bytes{namespace="fanfuse", persistentvolumeclaim="data-nats-1", node="a"}
        values: 7.9e9x20 8.1e9x20
      - series: kubelet_volume_stats_used_bytes{namespace="others", persistentvolumeclaim="data-nats-0"}
        values: 9e9x40
    alert_rule_test:
      - {alertname: FanfuseStoreFilling, eval_time: 20m}
      - alertname: FanfuseStoreFilling
        eval_time: 35m
        exp_alerts:
          - exp_labels: {severity: page, persistentvolumeclaim: data-nats-1}
            exp_annotations:
              summary: "data-nats-1 holds 7.544GiB: at 10 GB the bus takes no query and no answer"
              runbook: docs/runbooks/FanfuseStoreFilling.md
"""


def test_a_volume_that_fills_pages_before_the_bus_refuses(promtool: str, tmp_path: Path) -> None:
    """At four fifths of what nats.conf lets JetStream use."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(yaml.safe_load(CLUSTER_RULES.read_text())["spec"]))
    (tmp_path / "tests.yaml").write_text(VOLUMES)
    run(promtool, "check", "rules", "--lint=all", "--lint-fatal", tmp_path / "rules.yaml")
    run(promtool, "test", "rules", tmp_path / "tests.yaml")
    (rule,) = cluster_rules()
    stated = re.search(r"max_file_store: (\d+)GB", (ROOT / "deploy/k8s/base/nats/nats.conf").read_text())
    assert stated is not None
    assert float(rule.expr.rpartition("> ")[2]) == 0.8 * int(stated[1]) * 1e9


def test_promtool_finds_no_fault_in_the_metrics(promtool: str) -> None:
    own = Metrics()
    for spec in METRICS:
        own.prepare(spec, kind="vector", backend="main", consumer="fuser")
    assert run(promtool, "check", "metrics", stdin=own.exposition()) == ""


def test_dashboards_pass_the_typed_schema(tmp_path: Path) -> None:
    """Grafana's own types, without a Grafana: a misspelt field of a panel is a compiler error."""
    modules = node_modules()
    (tmp_path / "node_modules").symlink_to(modules)
    for name, document in dashboards().items():
        source = f"{AS_JSON}const d: Json<Dashboard> = {json.dumps(document)};\nexport default d;\n"
        (tmp_path / f"{Path(name).stem}.ts").write_text(source)
    options = {"strict": True, "noEmit": True, "skipLibCheck": True, "module": "esnext", "target": "es2022"}
    options |= {"moduleResolution": "bundler", "types": []}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    compiler = modules / "typescript/bin/tsc"
    run("node", compiler, "-p", tmp_path)
    bad = tmp_path / "operator.ts"
    bad.write_text(bad.read_text().replace('"graphTooltip": 1', '"graphTooltip": "one"'))
    with pytest.raises(AssertionError, match="is not assignable to type"):
        run("node", compiler, "-p", tmp_path)


def node_modules() -> Path:
    """`@grafana/schema` and `typescript`, installed once under ~/.cache; the test is skipped without npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("no typed check of the dashboards here: npm and node are not installed")
    folder = CACHE / f"grafana-schema-{GRAFANA_SCHEMA}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        wanted = (f"@grafana/schema@{GRAFANA_SCHEMA}", f"typescript@{TYPESCRIPT}")
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", *wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        if done.returncode:
            pytest.skip(f"no typed check of the dashboards here: npm could not install: {done.stderr[-300:]}")
        (folder / "complete").touch()
    return folder / "node_modules"


def test_every_command_in_a_runbook_exists() -> None:
    """Whoever follows one at night must not find that an option is called otherwise."""
    for path in RUNBOOKS.glob("*.md"):
        for words in map(str.split, re.findall(r"`fanfuse ([^`]+)`", path.read_text(encoding="utf-8"))):
            command: Any = typer.main.get_command(app)
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            assert not hasattr(command, "commands"), f"{path.name}: {words}"
            known = {option for parameter in command.params for option in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= known, f"{path.name}: {words}"
