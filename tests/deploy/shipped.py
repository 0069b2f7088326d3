"""The monitoring assets as shipped: panels with their queries, and rules. In: the repository. Out: data for checks."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
DASHBOARDS: Final = sorted((ROOT / "deploy/grafana/dashboards").glob("*.json"))
RULES: Final = ROOT / "deploy/prometheus/rules"
CLUSTER_RULES: Final = ROOT / "deploy/k8s/components/monitoring/volumes.yaml"
RUNBOOKS: Final = ROOT / "docs/runbooks"
ALERT_TESTS: Final = ROOT / "deploy/prometheus/tests/alerts.yaml"

_VARIABLE: Final = re.compile(r"\$(__\w+|\w+)")


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """One query of one panel."""

    dashboard: str
    panel: str
    type: str
    unit: str
    expr: str
    legend: str

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.dashboard}: {self.panel}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One recording or alerting rule."""

    name: str
    expr: str
    alert: bool
    annotations: Mapping[str, str]
    labels: Mapping[str, str]


def dashboards() -> dict[str, dict[str, Any]]:
    """Document by file name."""
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in DASHBOARDS}


def panel_queries() -> Iterator[PanelQuery]:
    """Every query of every panel, in order."""
    for name, document in dashboards().items():
        for panel in document["panels"]:
            for target in panel.get("targets", ()):
                unit = panel["fieldConfig"]["defaults"]["unit"]
                yield PanelQuery(name, panel["title"], panel["type"], unit, target["expr"], target["legendFormat"])


def rules() -> Iterator[Rule]:
    """Every rule on what Fanfuse exports, in order."""
    for path in sorted(RULES.glob("*.yaml")):
        yield from _rules_of(yaml.safe_load(path.read_text(encoding="utf-8")))


def cluster_rules() -> Iterator[Rule]:
    """Those on what only a cluster exports."""
    return _rules_of(yaml.safe_load(CLUSTER_RULES.read_text(encoding="utf-8"))["spec"])


def _rules_of(document: Mapping[str, Any]) -> Iterator[Rule]:
    for group in document["groups"]:
        for rule in group["rules"]:
            yield Rule(
                rule.get("alert") or rule["record"],
                rule["expr"],
                "alert" in rule,
                rule.get("annotations", {}),
                rule.get("labels", {}),
            )


def filled(expr: str, **values: str) -> str:
    """An expression with Grafana's variables replaced; a variable without a value is an error."""
    known = {"__rate_interval": "15s", "__range": "5m"} | values
    return _VARIABLE.sub(lambda match: known[match[1]], expr)
