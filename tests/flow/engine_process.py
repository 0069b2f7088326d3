"""A vector engine's server in a process of its own, which a test hangs, kills and starts again; its data stays.

`python -m tests.flow.engine_process` reads orders, one a line, and says when each is carried out.
"""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from fanfuse_runtime.children import ended_with_parent
from tests.flow.server_flow import LastingStore
from tests.servers.qdrant import Fault, QdrantShim


class Order(StrEnum):
    """What the process is told."""

    HANG = "hang"
    """Take requests and answer none."""
    DIE = "die"
    """Cut every connection and listen no more."""
    SERVE = "serve"


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """The test's end of it."""

    url: str
    orders: IO[str]
    done: IO[str]

    async def order(self, order: Order) -> None:
        """Returns when it is carried out."""
        print(order, file=self.orders, flush=True)
        await asyncio.to_thread(self.done.readline)


@contextmanager
def engine_process() -> Iterator[EngineProcess]:
    """It serves when the block begins, and is gone when it ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.flow.engine_process"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=ended_with_parent(signal.SIGKILL),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield EngineProcess(process.stdout.readline().strip(), process.stdin, process.stdout)
    finally:
        process.kill()
        process.communicate()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve, and do as told."""
    store = LastingStore()
    qdrant = QdrantShim(lambda: store).start()
    _say(qdrant.url)
    for line in sys.stdin:
        match Order(line.strip()):
            case Order.HANG:
                qdrant.fault = Fault(delay_s=600.0, calls=None)
            case Order.DIE:
                qdrant.stop()
            case Order.SERVE:
                qdrant.fault = None
                qdrant.start()
        _say("done")


if __name__ == "__main__":
    main()
