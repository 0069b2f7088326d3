"""Real Neo4j community servers as child processes: one per release and session, or one that a test may kill.

In: a release. Out: how it is reached. `NEO4J_URI` (with `NEO4J_USERNAME` and `NEO4J_PASSWORD`) names a server to use
instead. Each listens on a free port of this machine, keeps its data in a temporary folder and ends with its parent.
"""

import atexit
import os
import subprocess
import threading
import time
from functools import cache
from pathlib import Path
from typing import Final, Self

from pydantic import SecretStr

from fanfuse_backend_workers.servers import ServerSettings
from fanfuse_runtime.children import ended_with_parent
from fanfuse_testing.ports import free_port
from tests.servers.child import ChildServer, started_or_skipped
from tests.servers.maven import class_path, java_for
from tests.servers.neo4j_release import Neo4jRelease

NEO4J_URI: Final = "NEO4J_URI"
NEO4J_5: Final = Neo4jRelease("5.26.16", 17)
NEO4J_2026: Final = Neo4jRelease("2026.09.0", 21)
SHARED_RELEASES: Final = (NEO4J_5,) if NEO4J_URI in os.environ else (NEO4J_5, NEO4J_2026)
"""Of the servers that tests share: one where a variable names it, whatever it is."""
PASSWORD: Final = "only-for-tests"
_LAUNCHER: Final = Path(__file__).with_name("Neo4jLauncher.java")
_START_WITHIN_S: Final = 180.0
_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Neo4jServer(ChildServer):
    """One server, in a folder that goes with it."""

    def __init__(self, release: Neo4jRelease) -> None:
        self._release = release
        super().__init__("neo4j")
        self._port = free_port()
        self.settings = ServerSettings(
            url=f"bolt://127.0.0.1:{self._port}", username="neo4j", password=SecretStr(PASSWORD)
        )

    def start(self) -> Self:
        """Start it and wait until it is ready. A second start after a kill keeps port and data."""
        java, jars = java_for(self._release), class_path(self._release)
        command = [str(java), *_OPTIONS, *self._release.options, "-cp", jars, str(_LAUNCHER)]
        arguments = [str(self.folder / "data"), str(self._port), PASSWORD]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *arguments], stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=ended_with_parent()
            )
        self._await_ready(self.process)
        return self

    def _await_ready(self, process: subprocess.Popen[str]) -> None:
        ready = threading.Event()
        threading.Thread(target=_read, args=(process, ready), daemon=True).start()
        deadline = time.monotonic() + _START_WITHIN_S
        while not ready.wait(0.1):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Neo4j {self._release.version} did not start: {self.said()}")


@cache
def neo4j_settings(release: Neo4jRelease) -> ServerSettings:
    """How a running server is reached; skips the test where there is none and none can be started."""
    if uri := os.environ.get(NEO4J_URI):
        password = os.environ.get("NEO4J_PASSWORD")
        return ServerSettings(
            url=uri,
            username=os.environ.get("NEO4J_USERNAME", "neo4j"),
            password=None if password is None else SecretStr(password),
        )
    server = own_neo4j(release)
    atexit.register(server.close)
    return server.settings


def label(release: Neo4jRelease) -> str:
    """What the shared server is called in tests."""
    return f"at {NEO4J_URI}" if NEO4J_URI in os.environ else release.version


def own_neo4j(release: Neo4jRelease) -> Neo4jServer:
    """A started server that this test alone may kill; skips where none can be started."""
    return started_or_skipped(Neo4jServer(release))


def _read(process: subprocess.Popen[str], ready: threading.Event) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "ready":
            ready.set()
