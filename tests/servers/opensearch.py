"""Real OpenSearch nodes as child processes: one per release and session, or one that a test may kill.

In: a release. Out: its address. `OPENSEARCH_URL` names a server to use instead. Each node listens on a free port of
this machine, keeps its data in a temporary folder and ends with the process that started it.
"""

import atexit
import os
import subprocess
import time
import urllib.request
from functools import cache
from pathlib import Path
from typing import Final, Self

from fanfuse_runtime.children import ended_with_parent
from fanfuse_testing.ports import free_port
from tests.servers.child import ChildServer, started_or_skipped
from tests.servers.maven import class_path, java_for
from tests.servers.opensearch_release import OPENSEARCH_2, OPENSEARCH_3, Release

OPENSEARCH_URL: Final = "OPENSEARCH_URL"
SHARED_RELEASES: Final = (OPENSEARCH_2,) if OPENSEARCH_URL in os.environ else (OPENSEARCH_2, OPENSEARCH_3)
"""Of the servers that tests share: one where a variable names it, whatever it is."""

_LAUNCHER: Final = Path(__file__).with_name("OpenSearchLauncher.java")
_START_WITHIN_S: Final = 120.0
_OPTIONS: Final = ("-Xmx512m", "-Xms256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=ERROR")


class OpenSearchServer(ChildServer):
    """One node, in a folder that goes with it."""

    def __init__(self, release: Release) -> None:
        self._release = release
        super().__init__("opensearch")
        (self.folder / "config").mkdir()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Start it and wait until it answers. A second start after a kill keeps port and data."""
        command: list[str | Path] = [java_for(self._release), *_OPTIONS, "-cp", class_path(self._release), _LAUNCHER]
        arguments: list[str | Path] = [self.folder, self.folder / "data", str(self.port), *self._release.plugins]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *arguments], stdin=subprocess.PIPE, stdout=log, stderr=log, preexec_fn=ended_with_parent()
            )
        self._await_ready(self.process)
        return self

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_WITHIN_S
        while not _answers(f"{self.url}/_cluster/health?wait_for_status=yellow&timeout=10s"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"OpenSearch {self._release.version} did not start: {self.said()}")
            time.sleep(0.1)


@cache
def opensearch_url(release: Release) -> str:
    """Address of a running server; skips the test where there is none and none can be started."""
    return os.environ.get(OPENSEARCH_URL) or _shared(release).url


def label(release: Release) -> str:
    """What the shared server is called in tests."""
    return f"at {OPENSEARCH_URL}" if OPENSEARCH_URL in os.environ else release.version


def own_opensearch(release: Release) -> OpenSearchServer:
    """A started server that this test alone may kill; skips where none can be started."""
    return started_or_skipped(OpenSearchServer(release))


@cache
def _shared(release: Release) -> OpenSearchServer:
    server = own_opensearch(release)
    atexit.register(server.close)
    return server


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=15) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False
