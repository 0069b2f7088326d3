"""Children of the benchmark: started, spoken to line by line, always stopped.

In: a module of this package and its arguments. Out: what it says. CPU times and memory of any child are those of /proc.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

_HERE: Final = str(Path(__file__).resolve().parents[1])
_LINE_LIMIT: Final = 1 << 27
_READY_WITHIN_S: Final = 300.0
_STOP_WITHIN_S: Final = 20.0


class ChildFailedError(RuntimeError):
    """A child ended before it said what it was asked."""


class Child:
    """A running child of this package."""

    def __init__(self, module: str, process: asyncio.subprocess.Process, log: Path | None) -> None:
        self._module = module
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def hear(self, timeout_s: float) -> Any:
        """The next thing it says."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), timeout_s)
        if not line:
            tail = self._log.read_text(errors="replace")[-2_000:] if self._log is not None else ""
            raise ChildFailedError(f"{self._module} ended early {tail}")
        return json.loads(line)

    async def ask(self, command: str, within_s: float = 30.0) -> Any:
        """Say a line and hear the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        await self._process.stdin.drain()
        return await self.hear(within_s)

    async def stop(self) -> None:
        """Hang up; kill what does not end in time."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_WITHIN_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def child(
    module: str, *arguments: str, log: Path | None = None, python: Path | str = sys.executable
) -> AsyncIterator[Child]:
    """`python -m fanfuse_bench.<module>` for the time of a block; its log lines go to `log`, else to our own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("FANFUSE_", "OTEL_"))}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (_HERE, os.environ.get("PYTHONPATH"))))
    errors = log.open("wb") if log is not None else None
    process = await asyncio.create_subprocess_exec(
        *(python, "-m", f"fanfuse_bench.{module}", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        limit=_LINE_LIMIT,
        env=environment,
    )
    running = Child(module, process, log)
    try:
        yield running
    finally:
        await running.stop()
        if errors is not None:
            errors.close()


@asynccontextmanager
async def measured(
    module: str, *arguments: str, log: Path, python: Path | str = sys.executable
) -> AsyncIterator[Child]:
    """A child that is ready to be measured."""
    async with child(module, *arguments, log=log, python=python) as running:
        await running.hear(_READY_WITHIN_S)
        yield running


def cpu_s(pid: int) -> float:
    """CPU seconds a process has spent, at the resolution of the kernel's tick (10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(*pids: int) -> float:
    """Peak resident memory of processes together, in MB (Linux)."""
    lines = (line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return sum(float(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
