"""A stand-in for Elasticsearch: `noida-db` speaks its protocol and scores by the same BM25, over a linear scan.

Out: its address. It is slow: at most 1,000 documents. It has no TLS
and checks no password. Its data is in a temporary folder; it ends with the process that started it.
"""

import atexit
import subprocess
import sysconfig
import time
import urllib.request
from functools import cache
from pathlib import Path
from typing import Final, Self

import pytest

from fanfuse_contracts.filters import ORDER_OPS, Filter, Leaf, Op, leaves
from fanfuse_runtime.children import ended_with_parent
from fanfuse_testing.ports import free_port
from tests.servers.child import ChildServer, started_or_skipped

_START_WITHIN_S: Final = 20.0


class NoidaServer(ChildServer):
    """One server, in a folder that goes with it."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        super().__init__("noida")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Start it and wait until it answers. A second start after a kill keeps port and data."""
        options = ["--only", "elasticsearch", "--elasticsearch-port", str(self.port), "--data-dir", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._binary, "start", *options],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                preexec_fn=ended_with_parent(),
            )
        deadline = time.monotonic() + _START_WITHIN_S
        while not _answers(self.url):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"noida-db did not start: {self.said()}")
            time.sleep(0.02)
        return self


@cache
def noida_url() -> str:
    """Address of the server that tests share; skips the test where there is none."""
    server = own_noida()
    atexit.register(server.close)
    return server.url


def own_noida() -> NoidaServer:
    """A started server that this test alone may kill; skips without the wheel."""
    # The command of that name is only a wrapper, and would leave the server behind when it is killed.
    binary = Path(sysconfig.get_path("purelib"), "noida_db", "noida-db")
    if not binary.is_file():
        pytest.skip("no stand-in for Elasticsearch: the package noida-db is not installed")
    return started_or_skipped(NoidaServer(binary))


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def answers_right(condition: Filter) -> bool:
    """False for a filter about which it is known to be wrong: its wildcard query misses strings that hold `*` or `?`
    themselves, and its range query rounds integers to floats. Real servers do neither."""
    return not any(_answered_wrong(leaf) for leaf in leaves(condition))


def _answered_wrong(leaf: Leaf) -> bool:
    if leaf.op in ORDER_OPS:
        return isinstance(leaf.value, int | float) and abs(leaf.value) >= 2**53
    return leaf.op is Op.CONTAINS and leaf.field == "lang"
