"""The Elasticsearch client of version 8, which can't be installed beside version 9: in a process of its own.

It runs the conformance suite and the failure tests against the stand-in, as the locked version does.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.maven import CACHE

CLIENT = "elasticsearch[async]==8.19.3"
FILES = ("test_elasticsearch.py", "test_elasticsearch_failures.py", "test_elasticsearch_overload.py")


def installed(repository: Path) -> Path:
    """A folder with the client and what it needs, kept outside the repository."""
    folder = CACHE / "elasticsearch-8.19.3"
    if (folder / "complete").is_file():
        return folder
    uv = shutil.which("uv") or shutil.which("uv", path=repository / ".uv-venv" / "bin")
    if uv is None:
        pytest.skip("the client of version 8 is not run: there is no uv to install it with")
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(folder), CLIENT]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
    if done.returncode:
        pytest.skip(f"the client of version 8 is not run: it can't be installed: {done.stderr[-300:]}")
    (folder / "complete").touch()
    return folder


def run(folder: Path, repository: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-1_000:]
    return done.stdout


@pytest.mark.engine
def test_the_client_of_version_8_behaves_alike(repository: Path) -> None:
    folder = installed(repository)
    version = run(folder, repository, "-c", "import elasticsearch; print(elasticsearch.__versionstr__)")
    assert version.strip() == "8.19.3"
    files = [f"tests/backends/{name}" for name in FILES]
    chosen = ("-p", "no:cacheprovider", "-m", "not engine", "-k", "not opensearch")
    said = run(folder, repository, "-m", "pytest", "-q", *chosen, *files)
    assert " passed" in said
    assert "skipped" not in said
