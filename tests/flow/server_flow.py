"""The whole flow with engine servers behind its workers, on a configuration file of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.services import FACTORIES
from fanfuse_contracts.answer import Answer
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.configfile import load_config
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import Flow, eventually
from tests.servers.noida import NoidaServer, own_noida
from tests.servers.qdrant import QdrantShim
from tests.servers.qdrant_edge import EdgeStore


class LastingStore(EdgeStore):
    """Qdrant's engine, which keeps what it holds when its server is killed."""

    async def close(self) -> None:
        """What is stored stays until `remove`."""

    async def remove(self) -> None:
        """Remove it."""
        await super().close()


@contextmanager
def engine_servers() -> Iterator[tuple[QdrantShim, NoidaServer]]:
    """A Qdrant and an Elasticsearch that a test may kill and start again: they keep address and data."""
    store = LastingStore()
    qdrant, search = QdrantShim(lambda: store).start(), own_noida()
    try:
        yield qdrant, search
    finally:
        search.close()
        qdrant.stop()
        asyncio.run(store.remove())


def backends_of(qdrant: QdrantShim, search: NoidaServer) -> dict[str, Any]:
    """Section `backends`: `main` of vector and keyword on these servers."""
    return {
        "vector": {"main": {"engine": "qdrant", "url": qdrant.url, "namespace": "team-a"}},
        "keyword": {"main": {"engine": "elasticsearch", "url": search.url, "namespace": "team-a", "connections": 4}},
    }


def write_config(folder: Path, backends: Mapping[str, Any], **more: Any) -> Path:
    """A file with these backends."""
    path = folder / "fanfuse.yaml"
    path.write_text(yaml.safe_dump({"backends": dict(backends), **more}))
    return path


@asynccontextmanager
async def services_on(url: str, file: Path, data: Path) -> AsyncIterator[Process]:
    """All five services, in this process."""
    settings = RuntimeSettings(nats_url=url, data_dir=data, config_file=file, ops_port=0, drain_timeout_s=3.0)
    async with compose(*FACTORIES.values(), settings=settings) as process:
        yield process


@asynccontextmanager
async def operating(url: str, file: Path, data: Path) -> AsyncIterator[Operator]:
    """An operator with the file of the services."""
    async with operator_on(url, config=load_config(file), data_dir=data) as operator:
        yield operator


@asynccontextmanager
async def serving(folder: Path, file: Path, elsewhere: Path | None = None) -> AsyncIterator[Flow]:
    """Services and an operator that know the same backends, on a bus of their own.

    `elsewhere`: the data directory of the services, where the operator has another one: another machine's.
    """
    data = folder / "data"
    with NatsServer(folder / "nats") as bus:
        async with services_on(bus.url, file, elsewhere or data) as process, operating(bus.url, file, data) as operator:
            yield Flow(bus.url, data, operator, process)


Change = tuple[int, Callable[[], object]]
"""After this many answers, do this (it may block)."""


async def answers_over(
    ask: Callable[[int], Awaitable[Answer]], queries: int, at_once: int, changes: Sequence[Change]
) -> list[Answer]:
    """Every answer of a load that goes on while servers are changed."""
    answers: list[Answer] = []
    numbers = iter(range(queries))

    async def load() -> None:
        while (number := next(numbers, None)) is not None:
            answers.append(await ask(number))

    def reached(number: int) -> bool:
        return len(answers) >= number

    async def change() -> None:
        for after, work in changes:
            await eventually(partial(reached, after), 120)
            await asyncio.to_thread(work)

    await asyncio.gather(change(), *(load() for _ in range(at_once)))
    return answers
