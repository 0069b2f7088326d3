"""Writes deploy/prometheus/prometheusrule.yaml, the rules as the Prometheus operator takes them; `--check` compares."""

import argparse
import sys
from pathlib import Path
from typing import Final

import yaml

FOLDER: Final = Path(__file__).resolve().parents[1] / "deploy" / "prometheus"
_HEAD: Final = (
    "# Generated from rules/ by `python -m tools.prometheus_rule`, for clusters with the Prometheus operator.\n"
)


def render() -> str:
    """The manifest: every group of every file of rules."""
    groups = [
        group
        for path in sorted((FOLDER / "rules").glob("*.yaml"))
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    ]
    manifest = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "fanfuse", "labels": {"app.kubernetes.io/part-of": "fanfuse"}},
        "spec": {"groups": groups},
    }
    return _HEAD + yaml.safe_dump(manifest, sort_keys=False, width=120, allow_unicode=True)


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.prometheus_rule", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when the file is stale")
    path = FOLDER / "prometheusrule.yaml"
    if not parser.parse_args().check:
        path.write_text(render(), encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == render():
        return 0
    sys.stderr.write(f"{path.name} is stale: run python -m tools.prometheus_rule\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
