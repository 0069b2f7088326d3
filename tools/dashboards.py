"""Writes deploy/grafana/dashboards from tools/*_dashboard.py; with `--check` it fails when a file is stale."""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from tools.backend_dashboard import BACKEND_DASHBOARD
from tools.dashboard_model import to_json
from tools.operator_dashboard import OPERATOR

DASHBOARDS: Final = {"operator.json": OPERATOR, "backend.json": BACKEND_DASHBOARD}
FOLDER: Final = Path(__file__).resolve().parents[1] / "deploy" / "grafana" / "dashboards"


def render() -> dict[Path, str]:
    """File to content."""
    return {FOLDER / name: json.dumps(to_json(dashboard), indent=2) + "\n" for name, dashboard in DASHBOARDS.items()}


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.dashboards", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is stale")
    check = parser.parse_args().check
    stale = [path for path, text in render().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if check:
        sys.stderr.write("".join(f"{path.name} is stale: run python -m tools.dashboards\n" for path in stale))
        return 1 if stale else 0
    for path in stale:
        path.write_text(render()[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
