"""The services in two processes: the vector workers in a child of their own, everything else in this one.

In: a data directory and a bus. Out: a child that can be killed like any other process. The child never outlives this
process.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

from fanfuse_all_in_one.services import FACTORIES
from fanfuse_backend_workers.adapters.embedded import engines_in, texts_in
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.domain.pools import parse_pools
from fanfuse_backend_workers.service import build_with
from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.children import ended_with_parent
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.context import Context
from fanfuse_runtime.service import Service
from fanfuse_runtime.settings import RuntimeSettings

CHILD_POOLS: Final = "vector/main"
OWN_POOLS: Final = "keyword/main,graph/main"
_STOP_TIMEOUT_S: Final = 15.0


class VectorWorker:
    """The vector workers as a process. Start it from the main thread: the kernel ends it with that thread."""

    def __init__(self, data_dir: Path, nats_url: str) -> None:
        self._log = data_dir / "vector-worker.log"
        self._environment = os.environ | {
            "NATS_URL": nats_url,
            "FANFUSE_DATA_DIR": str(data_dir),
            "FANFUSE_WORKER_POOLS": CHILD_POOLS,
            "FANFUSE_OPS_PORT": "",
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the child."""
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def ended(self) -> str | None:
        """How the child ended by itself, with the last line of its log; None while it runs."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return None
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f"exit code {code}, {lines[-1] if lines else 'no log'}"

    def start(self) -> None:
        """Start the child; it is in service once its heartbeat says so."""
        with self._log.open("ab") as log:
            self._process = self._popen(log)

    def _popen(self, log: IO[bytes]) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "fanfuse_backend_workers"]
        return subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, preexec_fn=ended_with_parent())

    def kill(self) -> None:
        """End the child at once, as kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def stop(self) -> None:
        """Ask the child to stop, and wait for it."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            await asyncio.to_thread(self._process.wait, _STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()


@asynccontextmanager
async def split_services(data_dir: Path, nats_url: str) -> AsyncIterator[tuple[Process, VectorWorker]]:
    """All services for the time of a block: vector workers in a child, the others here."""
    settings = RuntimeSettings(nats_url=nats_url, data_dir=data_dir)
    factories = [_build_own_workers if stage is Stage.BACKEND_WORKERS else FACTORIES[stage] for stage in Stage]
    worker = VectorWorker(data_dir, nats_url)
    worker.start()
    try:
        async with compose(*factories, settings=settings) as process:
            yield process, worker
    finally:
        await worker.stop()


def _build_own_workers(context: Context) -> Service:
    data_dir = context.settings.data_dir
    factory = build_with(
        open_engine=engines_in(data_dir),
        open_texts=texts_in(data_dir),
        load_embedder=build_embedder,
        settings=WorkerSettings(pools=parse_pools(OWN_POOLS)),
    )
    return factory(context)
