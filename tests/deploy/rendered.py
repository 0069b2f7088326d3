"""The overlays as a newcomer renders them: the commands of deploy/README.md in a copy of deploy/k8s, then kustomize.

In: the repository and a folder. Out: the objects of an overlay.
"""

import shlex
import shutil
import subprocess
import sysconfig
from contextlib import chdir
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from typer.testing import CliRunner

from fanfuse_cli.main import app

ROOT: Final = Path(__file__).resolve().parents[2]
K8S: Final = ROOT / "deploy" / "k8s"
README: Final = ROOT / "deploy" / "README.md"
OVERLAYS: Final = ("dev", "prod")
Objects = list[dict[str, Any]]
_KUBECTL: Final = Path(sysconfig.get_path("scripts")) / "kubectl"


def prepare(folder: Path, config: str | None = None) -> Path:
    """A copy of deploy/k8s, and of the dashboards beside it, with what the overlay `prod` asks to be made; its root.

    `config`: another operator's file than the one that is shipped.
    """
    copy = folder / "k8s"
    shutil.copytree(K8S, copy, ignore=_made_here)
    shutil.copytree(K8S.parent / "grafana", folder / "grafana")
    if config is not None:
        (copy / "overlays" / "prod" / "fanfuse.yaml").write_text(config, encoding="utf-8")
    for command in commands_of_readme():
        fanfuse(copy / "overlays" / "prod", *command)
    return copy


def commands_of_readme() -> list[list[str]]:
    """What deploy/README.md has a newcomer run before the Secrets, without the name of the program."""
    part = README.read_text(encoding="utf-8").partition("## Kubernetes: production")[2].partition("**Secrets.**")[0]
    lines = (shlex.split(line, comments=True) for line in part.splitlines() if line.strip().startswith("fanfuse "))
    return [words[1:] for words in lines]


def _made_here(folder: str, names: list[str]) -> set[str]:
    """What a developer made in the checkout for a cluster of their own."""
    made = {"workers.yaml", "users.conf"} if folder.endswith("overlays/prod") else set()
    return {name for name in names if name in made or name in {"nats-users.yaml", "nats-seeds"} or name.endswith(".nk")}


def fanfuse(folder: Path, *arguments: str) -> str:
    """What the command prints, run in a folder."""
    with chdir(folder), pytest.MonkeyPatch.context() as environment:
        environment.delenv("FANFUSE_USERS", raising=False)
        result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def objects(root: Path, overlay: str) -> Objects:
    """Every object of an overlay."""
    command = [str(_KUBECTL), "kustomize", str(root / "overlays" / overlay)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]
