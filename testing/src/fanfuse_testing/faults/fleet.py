"""A broker with file storage, two (or more) processes of every role, and the corpus they are asked.

In: a folder and how many of which. Out: running processes that may be killed. Nothing outlives the block.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fanfuse_all_in_one.operating import operator_on
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.server import NatsServer
from fanfuse_testing import simulated, simulated_workers
from fanfuse_testing.faults.cluster import NatsCluster
from fanfuse_testing.faults.disk import SmallDisk
from fanfuse_testing.faults.replies import ReplyFaults
from fanfuse_testing.ports import free_port
from fanfuse_testing.processes import Processes

SIMULATED_DELAY: Final = "5-50"


@dataclass(frozen=True, slots=True)
class Size:
    """How many processes of each role; what is not named has `replicas`."""

    replicas: int = 2
    of_stage: Mapping[Stage, int] = field(default_factory=dict)

    def of(self, stage: Stage) -> int:
        """Processes of a role."""
        return self.of_stage.get(stage, self.replicas)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What runs."""

    server: NatsServer | NatsCluster
    processes: Processes
    monitoring: int
    """Port of the broker's monitoring."""
    disk: SmallDisk | None = None
    """Where the broker's files are, if that is a disk of their own."""

    async def launch(
        self,
        size: Size,
        replies: ReplyFaults | None = None,
        *,
        embedded: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start every role, the workers on simulated engines unless told otherwise; ready when it returns."""
        own = dict(environment or {})
        for stage in Stage:
            for number in range(1, size.of(stage) + 1):
                name = f"{stage.value}-{number}"
                if stage is Stage.BACKEND_WORKERS and not embedded:
                    self.processes.launch(stage, name, own | _simulated(replies), module=simulated_workers.__name__)
                else:
                    self.processes.launch(stage, name, own)
        await self.processes.ready()

    async def register_simulated(self) -> None:
        """Put the card of the simulated corpus into the registry."""
        card = simulated.CARD
        if (await self.processes.operator.card(card.tenant, card.corpus)).card is None:
            await self.processes.operator.put_card(card, over=0)

    @property
    def pids(self) -> dict[str, int]:
        """Process id of everything that runs, the broker included."""
        running = self.processes.started.items()
        return {"broker": self.server.pid} | {
            name: one.popen.pid for name, one in running if one.running and one.popen is not None
        }


def _simulated(replies: ReplyFaults | None) -> dict[str, str]:
    faults = {} if replies is None else {simulated_workers.REPLIES: str(replies)}
    return {simulated_workers.DELAY_MS: SIMULATED_DELAY} | faults


@asynccontextmanager
async def fleet(folder: Path, disk: SmallDisk | None = None) -> AsyncIterator[Fleet]:
    """A broker, its files on `disk` (else in `folder`), with no service on it yet."""
    monitoring = free_port()
    config = folder / "nats.conf"
    # The streams of the contract may grow to more than a small disk holds: it is the disk that must refuse.
    config.write_text(f'http: "127.0.0.1:{monitoring}"\njetstream {{ max_file_store: 100GB }}\n')
    store = folder if disk is None else disk.path
    with NatsServer(store / "nats", config=config) as server:
        async with operator_on(server.url) as operator:
            processes = Processes(server.url, folder / "data", operator, folder)
            try:
                yield Fleet(server, processes, monitoring, disk)
            except BaseException:
                for process in processes.started.values():
                    process.kill()
                raise
            await processes.close()
