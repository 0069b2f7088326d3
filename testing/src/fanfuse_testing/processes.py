"""Every service as a process of its own, on one bus: start, wait until ready, kill, stop and restart by name.

Use it with `pytest_plugins = ["fanfuse_testing.processes"]`. Nothing outlives the block: what still runs at its end is
killed, and the kernel ends the children if the tests die.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from fanfuse_all_in_one.operating import operator_on
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.children import ended_with_parent
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import Deployment, eventually
from fanfuse_testing.ports import free_port
from fanfuse_testing.samples import total

READY_WITHIN_S: Final = 90.0
_STOP_WITHIN_S: Final = 20.0


class ProcessFailedError(RuntimeError):
    """A service ended by itself."""


@dataclass(slots=True)
class ServiceProcess:
    """One service in one process."""

    name: str
    module: str
    environment: dict[str, str]
    port: int
    log: Path
    popen: "subprocess.Popen[bytes] | None" = None

    @property
    def running(self) -> bool:
        """True while the process exists."""
        return self.popen is not None and self.popen.poll() is None

    def start(self) -> None:
        """Start it; it is not ready yet."""
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", self.module],
                env=self.environment,
                stdout=log,
                stderr=log,
                preexec_fn=ended_with_parent(signal.SIGKILL),
            )

    async def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page of its operators' endpoint; status 0 while nothing listens."""
        return await get_page(self.port, path)

    async def is_ready(self) -> bool:
        """True if it may get work; raises `ProcessFailedError` when it has ended."""
        if not self.running:
            raise ProcessFailedError(f"{self.name} ended: {self.log.read_text(errors='replace')[-2_000:]}")
        return (await self.get("/readyz"))[0] == 200

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()

    async def stop(self) -> int:
        """Ask it to stop (SIGTERM, also a second time); returns its exit code."""
        assert self.popen is not None, f"{self.name} was never started"
        self.popen.terminate()
        return await asyncio.to_thread(self.popen.wait, _STOP_WITHIN_S)


async def get_page(port: int, path: str) -> tuple[int, str]:
    """Status and body of a page of an operators' endpoint on this machine; status 0 while nothing listens."""
    return await asyncio.to_thread(_get, f"http://127.0.0.1:{port}{path}")


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


@dataclass(frozen=True, slots=True)
class Processes(Deployment):
    """The processes of one bus, by name (`fuser-1`, `vector` …)."""

    folder: Path
    started: dict[str, ServiceProcess] = field(default_factory=dict)

    def launch(
        self, stage: Stage, name: str, environment: Mapping[str, str] | None = None, module: str | None = None
    ) -> ServiceProcess:
        """Start a service without waiting for it. `module`: instead of the shipped one of its stage."""
        own = {"NATS_URL": self.url, "FANFUSE_DATA_DIR": str(self.data_dir), "FANFUSE_OPS_PORT": str(free_port())}
        module = module or f"fanfuse_{stage.value.replace('-', '_')}"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("FANFUSE_")}
        return self._started(name, module, inherited | own | dict(environment or {}))

    def _started(self, name: str, module: str, environment: dict[str, str]) -> ServiceProcess:
        port = int(environment["FANFUSE_OPS_PORT"])
        process = ServiceProcess(name, module, environment, port, self.folder / f"{name}.log")
        self.started[name] = process
        process.start()
        return process

    async def ready(self, *names: str) -> None:
        """Wait until these (without names: all that were started) are ready."""
        for process in [self.started[name] for name in names] or self.started.values():
            await eventually(process.is_ready, READY_WITHIN_S, 0.1)

    async def scale(self, stage: Stage, replicas: int, environment: Mapping[str, str] | None = None) -> None:
        """Start replicas of a service until there are this many; they are ready when it returns."""
        names = [f"{stage.value}-{number}" for number in range(1, replicas + 1)]
        for name in names:
            if name not in self.started or not self.started[name].running:
                self.launch(stage, name, environment)
        await self.ready(*names)

    def kill(self, name: str) -> None:
        """End a process at once, as kill -9 does."""
        self.started[name].kill()

    async def restart(self, name: str) -> None:
        """Start an ended process again, as it was; it is ready when this returns."""
        self.started[name].start()
        await self.ready(name)

    async def replace(self, name: str, grace_s: float) -> float:
        """As a Deployment's rolling update: a successor, then SIGTERM; returns the seconds until the old one ended.

        Raises `ProcessFailedError` where it did not end by itself within its grace period, or not well.
        """
        old = self.started[name]
        assert old.popen is not None, f"{name} was never started"
        try:
            successor = self._started(name, old.module, {**old.environment, "FANFUSE_OPS_PORT": str(free_port())})
            await eventually(successor.is_ready, READY_WITHIN_S, 0.1)
            began = time.monotonic()
            old.popen.terminate()
            code = await asyncio.to_thread(old.popen.wait, grace_s)
        except subprocess.TimeoutExpired as error:
            raise ProcessFailedError(f"{name} still ran {grace_s:g} s after SIGTERM") from error
        finally:
            old.kill()  # also where its successor never got ready: nobody else knows it any more
        if code:
            raise ProcessFailedError(f"{name} ended with {code}")
        return time.monotonic() - began

    async def metric(self, name: str, sample: str, **labels: str) -> float:
        """The sum of a process's samples with these labels; raises `LookupError` where there is none."""
        _, text = await self.started[name].get("/metrics")
        return total(text_string_to_metric_families(text), sample, labels)

    async def close(self) -> None:
        """Stop everything; what does not stop in time is killed. Raises `ProcessFailedError` on a bad exit."""
        running = [process for process in self.started.values() if process.running]
        for process in running:
            assert process.popen is not None
            process.popen.terminate()
        failed = []
        for process in running:
            try:
                code = await process.stop()
            except subprocess.TimeoutExpired:
                process.kill()
                code = -signal.SIGKILL
            if code:
                failed.append(f"{process.name} ended with {code}")
        if failed:
            raise ProcessFailedError("; ".join(failed))


@asynccontextmanager
async def running_processes(folder: Path) -> AsyncIterator[Processes]:
    """A bus with no service on it yet."""
    with NatsServer(folder / "nats") as server:
        async with operator_on(server.url) as operator:
            processes = Processes(server.url, folder / "data", operator, folder)
            try:
                yield processes
            except BaseException:
                for process in processes.started.values():
                    process.kill()
                raise
            await processes.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def processes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Processes]:
    """A bus, a data directory, and any number of service processes, for the tests of one module."""
    async with running_processes(tmp_path_factory.mktemp("processes")) as running:
        yield running
