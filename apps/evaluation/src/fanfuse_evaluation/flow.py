"""A flow to ask: the one that runs on a bus, or the five services in this process for as long as it takes.

In: where it is, who asks, what. Out: a record per judged query. Nothing of an own flow is left running.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fanfuse_all_in_one.operating import operator_on
from fanfuse_all_in_one.services import FACTORIES
from fanfuse_client import Client
from fanfuse_contracts.access import Access
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.query import Principal
from fanfuse_evaluation.asking import Manner, ask_all
from fanfuse_evaluation.collections import Showing, Source, make_ready
from fanfuse_evaluation.lane_lists import AskedQuery
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings


@dataclass(frozen=True, slots=True)
class Where:
    """A bus and a tenant on it. `starts`: nothing runs there, so the services are started here."""

    url: str
    tenant: str
    data_dir: Path
    starts: bool
    foreign: bool = False
    """Somebody else's: nothing is indexed there."""
    config: FanfuseConfig | None = None
    principal: Principal | None = None
    access: Access | None = None


class Counting(Protocol):
    """Who shows how many queries of a collection are answered, for the time of a block."""

    def __call__(self, name: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        """What is called after each answer."""
        ...


async def ask_collections(
    where: Where, sources: Sequence[Source], manner: Manner, showing: Showing, counting: Counting
) -> list[AskedQuery]:
    """Ask every judged query of every collection, one collection after the other, when all are ready."""
    asked = [source.questions() for source in sources]
    found: list[AskedQuery] = []
    async with (
        _services(where),
        operator_on(where.url, config=where.config, data_dir=where.data_dir) as operator,
        Client(where.url, where.tenant, principal=where.principal, access=where.access) as client,
    ):
        for source in sources:
            await make_ready(operator, None if where.foreign else where.data_dir, where.tenant, source, showing)
        for questions in asked:
            with counting(questions.collection, len(questions.texts)) as told:
                found += await ask_all(operator.bus, client, questions, manner, told)
    return found


@asynccontextmanager
async def _services(where: Where) -> AsyncIterator[None]:
    if not where.starts:
        yield
        return
    settings = RuntimeSettings(nats_url=where.url, data_dir=where.data_dir)
    async with compose(*FACTORIES.values(), settings=settings, config=where.config):
        yield
