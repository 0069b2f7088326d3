"""The Elasticsearch client of version 8, which can't be installed beside version 9: in a process of its own.

It runs the conformance suite and the failure tests against the stand-in, as the locked version does.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.maven import MissingServerError
from tests.servers.wheels import installed

CLIENT = "elasticsearch[async]==8.19.3"
FILES = ("test_elasticsearch.py", "test_elasticsearch_failures.py", "test_elasticsearch_overload.py")


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
    try:
        folder = installed(CLIENT)
    except MissingServerError as error:
        pytest.skip(f"the client of version 8 is not run: {error}")
    version = run(folder, repository, "-c", "import elasticsearch; print(elasticsearch.__versionstr__)")
    assert version.strip() == "8.19.3"
    files = [f"tests/backends/{name}" for name in FILES]
    chosen = ("-p", "no:cacheprovider", "-m", "not engine", "-k", "not opensearch")
    said = run(folder, repository, "-m", "pytest", "-q", *chosen, *files)
    assert " passed" in said
    assert "skipped" not in said
