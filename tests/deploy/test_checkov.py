"""checkov on the rendered overlays and the Dockerfile. `make deploy-check-nightly` installs it into its own folder.

deploy/checkov.yaml says which checks are left out and why; a row that no object needs fails here.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.deploy.rendered import OVERLAYS, ROOT, objects, prepare

pytestmark = pytest.mark.nightly

CHECKOV: Final = ROOT / ".checkov" / "bin" / "checkov"
LEFT_OUT: Final = set(yaml.safe_load((ROOT / "deploy/checkov.yaml").read_text(encoding="utf-8"))["skip-check"])


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file per overlay, and the Dockerfile."""
    if not CHECKOV.exists():
        pytest.skip("no checkov: `make deploy-check-nightly` installs it")
    folder = tmp_path_factory.mktemp("checkov")
    root = prepare(folder)
    checked = folder / "checked"
    checked.mkdir()
    for overlay in OVERLAYS:
        (checked / f"{overlay}.yaml").write_text(yaml.safe_dump_all(objects(root, overlay)))
    (checked / "Dockerfile").write_text((ROOT / "deploy/docker/Dockerfile").read_text(encoding="utf-8"))
    return checked


def failed(folder: Path) -> dict[str, list[str]]:
    """Objects by failed check."""
    command = [
        str(CHECKOV),
        "--framework",
        "kubernetes",
        "dockerfile",
        "--skip-download",
        "--output",
        "json",
        "-d",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    reports: list[dict[str, Any]] = json.loads(done.stdout)
    assert {report["check_type"] for report in reports} == {"kubernetes", "dockerfile"}, done.stderr
    found: dict[str, list[str]] = {}
    for report in reports:
        assert report["summary"]["passed"] > 100
        for row in report["results"]["failed_checks"]:
            found.setdefault(row["check_id"], []).append(row["resource"])
    return found


def test_nothing_is_found_but_what_is_left_out_with_a_reason(rendered: Path) -> None:
    found = failed(rendered)
    assert {check: where for check, where in found.items() if check not in LEFT_OUT} == {}
    assert found.keys() == LEFT_OUT, "a row of deploy/checkov.yaml that nothing needs"


def test_a_planted_mistake_is_found(rendered: Path, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text((rendered / "Dockerfile").read_text())
    text = (rendered / "prod.yaml").read_text()
    (tmp_path / "prod.yaml").write_text(text.replace("allowPrivilegeEscalation: false", "privileged: true"))
    assert "CKV_K8S_16" in failed(tmp_path)
