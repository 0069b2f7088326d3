"""The router as a running service on a real server, and what a test does to it and sees of it."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import nats
import pytest

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.classification import CorpusScore, QueryClassified, QueryShape
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import BackendHealth, Kind, Shape
from fanfuse_contracts.health import BackendState
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_corpus_router.service import build
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually

TENANT = "acme"


@pytest.fixture
def service():
    return build


class RunningRouter:
    """One router, its server and a client."""

    def __init__(self, process: Any, client: Any) -> None:
        self.process = process
        self.client = client

    @property
    def now_s(self) -> float:
        """Broker time in seconds since the epoch."""
        return float(self.process.context.bus.now_ns()) / 1e9

    async def register(self, *cards: CorpusCard) -> None:
        """Put the cards into the registry and wait until the router knows them."""
        bucket = await self.client.jetstream().key_value(streams.CORPORA.name)
        for card in cards:
            await bucket.put(streams.corpus_key(card.tenant, card.corpus), card.to_json())
        await eventually(lambda: all(self.process.context.corpora.get(one.tenant, one.corpus) == one for one in cards))

    async def set_health(self, kind: Kind, backend: str, health: BackendHealth, version: int) -> None:
        """Write what the health service would, and wait until the router knows it."""
        bucket = await self.client.jetstream().key_value(streams.BACKEND_STATE.name)
        state = BackendState(kind=kind, backend=backend, state=health, version=version, since="now")
        await bucket.put(streams.backend_key(kind, backend), state.to_json())
        unhealthy = health is not BackendHealth.HEALTHY
        await eventually(lambda: ((kind, backend) in self.process.context.backends.unhealthy) is unhealthy)

    def classified(self, query_id: str, *scores: CorpusScore, **query: Any) -> QueryClassified:
        """What the classifier would publish."""
        return QueryClassified(
            tenant=TENANT,
            query_id=query_id,
            query=AcceptedQuery(**({"text": "how many days of leave are left"} | query)),
            submitted_ns=self.process.context.bus.now_ns(),
            classification=QueryShape(shape=Shape.MIXED, reason="test"),
            corpus_scores=scores,
        )

    async def submit(self, event: QueryClassified) -> None:
        """Publish it as the classifier does."""
        subject = subjects.query_classified(event.tenant, event.query_id)
        await self.client.jetstream().publish(subject, event.to_json())

    async def stored(self, channel: Any, subject: str, model: Any) -> Any:
        """The last message on a subject, as soon as there is one."""
        js = self.client.jetstream()

        async def look() -> Any:
            with suppress(nats.js.errors.NotFoundError):
                return model.from_json((await js.get_last_msg(channel.stream, subject)).data)

        return await eventually(look)

    async def commands(self) -> dict[str, int]:
        """Messages of the stream of commands, by subject."""
        info = await self.client.jetstream().stream_info(streams.RETRIEVE.name, subjects_filter=">")
        return dict(info.state.subjects or {})


@pytest.fixture
async def router(nats_server, tmp_path) -> AsyncIterator[RunningRouter]:
    """With shared lanes allowed: they show only where cards allow them too."""
    config = tmp_path / "fanfuse.yaml"
    config.write_text("retrieval:\n  routing:\n    fan_out: false\n")
    settings = RuntimeSettings(nats_url=nats_server.url, config_file=config)
    async with compose(build, settings=settings) as process:
        client = await nats.connect(nats_server.url)
        yield RunningRouter(process, client)
        await client.close()
