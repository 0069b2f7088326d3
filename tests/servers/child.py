"""A server as a child process, in a temporary folder that goes with it. It ends with the process that started it."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final


class ChildServer:
    """What every server of the tests is; `start` of each says how it is run and when it is ready."""

    def __init__(self, name: str) -> None:
        self.folder: Final = Path(tempfile.mkdtemp(prefix=f"fanfuse-{name}-"))
        self.process: subprocess.Popen[Any] | None = None

    def kill(self) -> None:
        """End it at once (SIGKILL): connections are cut, what was acknowledged is kept."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdin is not None:
                self.process.stdin.close()

    def close(self) -> None:
        """End it and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def said(self) -> str:
        """The end of its log."""
        return (self.folder / "log").read_text()[-1_000:]
