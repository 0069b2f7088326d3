"""The whole flow on a bus of its own: five services, real embedded engines, corpora indexed as an operator does.

Use it with `pytest_plugins = ["fanfuse_testing.flow"]`. `flow` is one process for all tests of a module, which must run
on the module's loop: `pytestmark = pytest.mark.asyncio(loop_scope="module")`.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import structlog
from nats.aio.msg import Msg
from opentelemetry.sdk.trace import SpanProcessor

from fanfuse_all_in_one.deleting import Deleted, delete_chunks
from fanfuse_all_in_one.indexing import Indexed, Wish, index_corpus
from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.services import FACTORIES
from fanfuse_client import Client
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.chunks import Chunk, content_hash
from fanfuse_contracts.corpus import FieldType
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.health import BackendState
from fanfuse_contracts.query import Principal
from fanfuse_runtime.compose import Process, compose
from fanfuse_runtime.configfile import load_config
from fanfuse_runtime.logs import configure_logs
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import ServiceFactory
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.samples import counted


async def eventually(look: Callable[[], Any], within_s: float = 30.0, every_s: float = 0.02) -> Any:
    """The first true thing that `look` (plain or async) returns; raises `TimeoutError`."""
    async with asyncio.timeout(within_s):
        while True:
            found = look()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(every_s)


def sample_chunk(chunk_id: str, text: str, **fields: Any) -> Chunk:
    """A chunk whose title is its first words and the hash of both."""
    stated = {"title": text[:40], "content_hash": content_hash(text[:40], text)} | fields
    return Chunk(chunk_id=chunk_id, text=text, **stated)


@dataclass(frozen=True, slots=True)
class Deployment:
    """A bus with services on it, however they run, and an operator's connection to it."""

    url: str
    data_dir: Path
    operator: Operator

    def client(self, tenant: str, *roles: str, stranger: bool = False) -> Client:
        """A caller of this tenant. `stranger`: it states no principal."""
        principal = None if stranger else Principal(id="tester", roles=frozenset(roles))
        return Client(self.url, tenant, principal=principal)

    async def index(
        self,
        tenant: str,
        corpus: str,
        chunks: Iterable[Chunk],
        fields: Mapping[str, FieldType] | None = None,
        **stated: Any,
    ) -> Indexed:
        """Index a corpus; `stated` are fields of `Wish`. When it returns every instance serves it."""
        wish = Wish(tenant, corpus, **stated)
        return await index_corpus(self.operator, self.data_dir, wish, chunks, lambda: fields or {})

    async def delete(self, tenant: str, corpus: str, ids: Iterable[str] | None) -> Deleted:
        """Delete chunks or documents; None: the whole corpus."""
        return await delete_chunks(self.operator, self.data_dir, tenant, corpus, ids)

    async def stored_answers(self, tenant: str) -> int:
        """How many answers of a tenant the bus holds."""
        pattern = subjects.fused_of_tenant(tenant)
        info = await self.operator.bus.js.stream_info(streams.ANSWERS.name, subjects_filter=pattern)
        return sum((info.state.subjects or {}).values())

    async def backend_state(self, key: str) -> BackendState | None:
        """What health says of `<kind>.<backend>`; None: it never had trouble."""
        states = await self.operator.backend_states()
        return next((state for state in states if streams.backend_key(state.kind, state.backend) == key), None)

    @asynccontextmanager
    async def ledger(self, tenant: str) -> AsyncIterator["Ledger"]:
        """Every answer of a tenant that a subscriber hears during a block."""
        ledger = Ledger()
        client = self.operator.bus.nc
        subscription = await client.subscribe(subjects.answered_of_tenant(tenant), cb=ledger.hear)
        await client.flush()
        try:
            yield ledger
        finally:
            await subscription.unsubscribe()


@dataclass(slots=True)
class Ledger:
    """How often the answer of each query was heard."""

    heard: Counter[str] = field(default_factory=Counter)

    async def hear(self, msg: Msg) -> None:
        """Count one message."""
        self.heard[subjects.parse_query(msg.subject).query_id] += 1


@dataclass(frozen=True, slots=True)
class Flow(Deployment):
    """All five services in this process."""

    process: Process

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples with these labels; raises `LookupError` where there is none."""
        return counted(self.process.metrics.registry, name, **labels)


@contextmanager
def logs_of_a_process() -> Iterator[None]:
    """Logs as a service's process writes them, from warnings up; what was configured before is restored."""
    before = structlog.get_config()
    configure_logs("warning")
    try:
        yield
    finally:
        structlog.configure(**before)


@asynccontextmanager
async def running_flow(
    url: str,
    data_dir: Path,
    *,
    services: Mapping[Stage, ServiceFactory] | None = None,
    span_processor: SpanProcessor | None = None,
    config_file: Path | None = None,
) -> AsyncIterator[Flow]:
    """All five services on a bus for the time of a block. `services` stand in for the shipped ones of their stage."""
    settings = RuntimeSettings(
        nats_url=url, data_dir=data_dir, config_file=config_file, ops_port=0, drain_timeout_s=3.0
    )
    factories = (FACTORIES | dict(services or {})).values()
    with logs_of_a_process():
        async with (
            compose(*factories, settings=settings, span_processor=span_processor) as process,
            operator_on(url, config=load_config(config_file), data_dir=data_dir) as operator,
        ):
            yield Flow(url, data_dir, operator, process)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def flow(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Flow]:
    """All five services in this process, on a bus and a data directory of their own, with no corpus yet."""
    folder = tmp_path_factory.mktemp("flow")
    with NatsServer(folder / "nats") as server:
        async with running_flow(server.url, folder / "data") as running:
            yield running
