"""A server as a child process, in a temporary folder that goes with it. It ends with the process that started it.

A server that does not start leaves nothing behind.
"""

import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import pytest

from fanfuse_runtime.children import ended_with_parent
from tests.servers.maven import MissingServerError

S = TypeVar("S", bound="ChildServer")


class ChildServer(ABC):
    """What every server of the tests is; `start` of each says how it is run and when it is ready."""

    def __init__(self, name: str) -> None:
        self.folder: Final = Path(tempfile.mkdtemp(prefix=f"fanfuse-{name}-"))
        self.process: subprocess.Popen[Any] | None = None

    @abstractmethod
    def start(self) -> Self:
        """Start it and wait until it answers. A second start after a kill keeps port and data."""

    def run(self, command: Sequence[str | Path]) -> None:
        """Begin `command`, which writes to the log and ends with the thread that began it."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=ended_with_parent(signal.SIGKILL)
            )

    def kill(self) -> None:
        """End it at once (SIGKILL): connections are cut, what was acknowledged is kept."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdin is not None:
                self.process.stdin.close()

    def stop(self) -> None:
        """End it as an operator does: a stand-in may lose what it has not written yet when it is killed."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
            self.kill()

    def close(self) -> None:
        """End it and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def said(self) -> str:
        """The end of its log."""
        return (self.folder / "log").read_text()[-1_000:]


def started_or_skipped(server: S) -> S:
    """The server, started; skips the test where the machine can't run it."""
    try:
        return server.start()
    except MissingServerError as error:
        server.close()
        pytest.skip(str(error))
    except BaseException:
        server.close()
        raise
