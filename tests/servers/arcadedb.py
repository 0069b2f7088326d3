"""ArcadeDB servers over Bolt: another engine behind the Neo4j driver, and what stands in where Maven is not reachable.

Out: how one is reached. The package (100 MB, a Java runtime inside) is no dependency of this workspace: it is installed
into a folder under ~/.cache when first asked for. It ignores time limits and has no index of words.
"""

import atexit
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Final, Self

from pydantic import SecretStr

from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_runtime.children import ended_with_parent
from fanfuse_testing.ports import free_port
from tests.servers.child import ChildServer, started_or_skipped
from tests.servers.neo4j import PASSWORD
from tests.servers.wheels import installed

_PACKAGE: Final = "arcadedb-embedded==26.10.2.post1"
_LAUNCHER: Final = Path(__file__).with_name("arcadedb_launcher.py")
_START_WITHIN_S: Final = 120.0


class ArcadeDBServer(ChildServer):
    """One server, in a folder that goes with it."""

    def __init__(self) -> None:
        super().__init__("arcadedb")
        self._port, self._http_port = free_port(), free_port()
        self.settings = ServerSettings(
            url=f"bolt://127.0.0.1:{self._port}", username="root", password=SecretStr(PASSWORD)
        )

    def start(self) -> Self:
        """Start it and wait until it is ready. A second start after a kill keeps port and data."""
        environment = {**os.environ, "PYTHONPATH": str(installed(_PACKAGE))}
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        arguments = [str(data), str(self._port), str(self._http_port), PASSWORD]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(_LAUNCHER), *arguments],
                cwd=data,
                env=environment,
                stdout=log,
                stderr=log,
                preexec_fn=ended_with_parent(),
            )
        deadline = time.monotonic() + _START_WITHIN_S
        while b"\nready" not in (self.folder / "log").read_bytes():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"ArcadeDB did not start: {self.said()}")
            time.sleep(0.1)
        return self


@cache
def arcadedb_settings() -> ServerSettings:
    """How the server that tests share is reached; skips the test where none can be started."""
    server = own_arcadedb()
    atexit.register(server.close)
    return server.settings


def own_arcadedb() -> ArcadeDBServer:
    """A started server that this test alone may kill; skips where none can be started."""
    return started_or_skipped(ArcadeDBServer())
