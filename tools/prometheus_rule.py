"""Writes deploy/k8s/components/monitoring/rules.yaml, for the Prometheus operator, from deploy/prometheus/rules.

With `--check` it fails when the file is stale.
"""

import argparse
import sys
from pathlib import Path
from typing import Final

import yaml

_DEPLOY: Final = Path(__file__).resolve().parents[1] / "deploy"
RULES: Final = _DEPLOY / "prometheus" / "rules"
WRITTEN: Final = _DEPLOY / "k8s" / "components" / "monitoring" / "rules.yaml"
_HEAD: Final = "# Made by `python -m tools.prometheus_rule` from deploy/prometheus/rules: change them there.\n"


def render() -> str:
    """The same groups as one object."""
    groups = [
        group
        for path in sorted(RULES.glob("*.yaml"))
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    ]
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "fanfuse"},
        "spec": {"groups": groups},
    }
    return _HEAD + yaml.safe_dump(rule, sort_keys=False, width=120)


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.prometheus_rule", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when the file is stale")
    if not parser.parse_args().check:
        WRITTEN.write_text(render(), encoding="utf-8")
    elif WRITTEN.read_text(encoding="utf-8") != render():
        sys.stderr.write(f"{WRITTEN.name} is stale: run python -m tools.prometheus_rule\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
