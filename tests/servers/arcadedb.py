"""An ArcadeDB server over Bolt: what stands in for Neo4j where no Maven registry is reachable.

Out: how it is reached. It needs an interpreter that has `arcadedb-embedded` (100 MB, so no dependency of this
workspace): this one, or the one that `ARCADEDB_PYTHON` names. It ignores time limits and has no full-text index.
"""

import atexit
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from pydantic import SecretStr

from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_runtime.children import ended_with_parent
from tests.servers.opensearch import free_port

PASSWORD: Final = "only-for-tests"
_LAUNCHER: Final = Path(__file__).with_name("arcadedb_launcher.py")
_START_WITHIN_S: Final = 120.0


@cache
def arcadedb_settings() -> ServerSettings:
    """How a running server is reached; skips the test where none can be started."""
    python = os.environ.get("ARCADEDB_PYTHON")
    if python is None and importlib.util.find_spec("arcadedb_embedded") is None:
        pytest.skip("ARCADEDB_PYTHON names no interpreter with arcadedb-embedded")
    folder, port = tempfile.mkdtemp(prefix="fanfuse-arcadedb-"), free_port()
    command = [python or sys.executable, str(_LAUNCHER), folder, str(port), PASSWORD]
    with Path(folder, "out").open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, preexec_fn=ended_with_parent())
    atexit.register(shutil.rmtree, folder, True)
    atexit.register(process.kill)
    deadline = time.monotonic() + _START_WITHIN_S
    while b"\nready" not in Path(folder, "out").read_bytes():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"ArcadeDB did not start: {Path(folder, 'out').read_text()[-500:]}")
        time.sleep(0.1)
    return ServerSettings(url=f"bolt://127.0.0.1:{port}", username="root", password=SecretStr(PASSWORD))
