"""The registry in the key-value bucket: the store suite, broker restarts, a bucket that is made anew."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import nats
import pytest
from nats.aio.client import Client

from fanfuse_contracts import streams
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.corpus_store import RegistryError, StoreUnavailableError
from fanfuse_runtime.kv_store import KvCorpusStore
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.setup import ensure_bucket, ensure_topology_in_time
from fanfuse_testing.flow import eventually
from fanfuse_testing.store_suite import DOCS, LEGAL, applied, indexed
from fanfuse_testing.writable_store_suite import WritableStoreSuite


class TestKvStore(WritableStoreSuite):
    @pytest.fixture(autouse=True)
    async def _connected(self, nats_server: NatsServer) -> AsyncIterator[None]:
        self._clients = [await nats.connect(nats_server.url) for _ in range(3)]
        await ensure_bucket(self._clients[0].jetstream(), streams.CORPORA)
        yield
        for client in self._clients:
            await client.close()

    def store(self) -> KvCorpusStore:
        self._clients.append(self._clients.pop(0))
        return KvCorpusStore(bus_of(self._clients[0]))

    async def write_raw(self, tenant: str, corpus: str, value: bytes) -> None:
        bucket = await self._clients[0].jetstream().key_value(streams.CORPORA.name)
        await bucket.put(f"{tenant}.{corpus}", value)

    async def test_a_foreign_key_is_passed_over(self) -> None:
        await self.fill((DOCS,))
        async with self.writing() as store, self.following() as reader:
            bucket = await self._clients[0].jetstream().key_value(streams.CORPORA.name)
            for key in ("weird", "a.b.c", "Acme.docs"):
                await bucket.put(key, DOCS.to_json())
            revision = await store.put(LEGAL, 0)
            await applied(reader, revision)
            assert dict(reader.values) == {"acme.docs": DOCS, "acme.legal": LEGAL}
            assert [found.card for found in await store.read_all()] == [DOCS, LEGAL]

    async def test_a_purged_key_is_dropped_by_the_next_look(self) -> None:
        await self.fill((DOCS, LEGAL))
        async with self.following() as reader:
            await (
                self._clients[0].jetstream().purge_stream(f"KV_{streams.CORPORA.name}", subject="$KV.corpora.acme.docs")
            )
            reader.reread()
            await eventually(lambda: reader.get("acme", "docs") is None)
            assert reader.of_tenant("acme") == (LEGAL,)

    async def test_a_bucket_that_is_made_anew_is_followed_from_its_first_revision(self) -> None:
        """A broker that lost its disk: revisions begin again at 1."""
        await self.fill((DOCS, LEGAL))
        async with self.writing() as store, self.following() as reader:
            for number in range(1, 6):
                await store.put(indexed(DOCS, number), (await store.read("acme", "docs")).revision)
            await eventually(lambda: reader.get("acme", "docs") == indexed(DOCS, 5))
            js = self._clients[0].jetstream()
            await js.delete_key_value(streams.CORPORA.name)
            await ensure_bucket(js, streams.CORPORA)
            revision = await store.put(indexed(DOCS, 9), 0)
            assert revision < reader.revision
            reader.reread()
            await eventually(lambda: reader.get("acme", "docs") == indexed(DOCS, 9))
            assert reader.get("acme", "legal") is None
            assert reader.revision == revision

    async def test_a_card_larger_than_a_message_is_refused_with_what_to_do(self) -> None:
        big = DOCS.model_copy(update={"term_weights": {f"term-number-{n}": 1.0 for n in range(60_000)}})
        async with self.writing() as store:
            with pytest.raises(RegistryError, match="max_payload"):
                await store.put(big, 0)


def bus_of(client: Client) -> Bus:
    return Bus(client, BrokerClock(), "test")


@asynccontextmanager
async def replica(server: NatsServer) -> AsyncIterator[KvCorpusStore]:
    """A process as far as the registry goes: it sets up and rereads when its broker is back."""
    back: set[asyncio.Task[None]] = set()

    async def on_reconnect() -> None:
        back.add(asyncio.create_task(again()))

    async def again() -> None:
        await ensure_topology_in_time(bus.js)
        store.reread()

    client = await nats.connect(
        server.url, max_reconnect_attempts=-1, reconnect_time_wait=0.2, reconnected_cb=on_reconnect, error_cb=ignore
    )
    bus = bus_of(client)
    await ensure_topology_in_time(bus.js)
    store = KvCorpusStore(bus)
    await store.start()
    try:
        yield store
    finally:
        await store.stop()
        with suppress(OSError):  # what is left of a broker that was killed
            await client.close()


async def ignore(_error: Exception) -> None:
    """While the broker is away every attempt fails."""


@pytest.mark.parametrize("end", [NatsServer.stop, NatsServer.kill], ids=["stopped", "killed"])
async def test_changes_are_followed_after_a_broker_restart(
    own_nats_server: NatsServer, say: Callable[[str], None], end: Callable[[NatsServer], None]
) -> None:
    took: list[float] = []
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(replica(own_nats_server))
        readers = [await stack.enter_async_context(replica(own_nats_server)) for _ in range(2)]
        await writer.put(DOCS, 0)
        await eventually(lambda: all(reader.get("acme", "docs") == DOCS for reader in readers))
        for number in range(1, 4):
            end(own_nats_server)
            await asyncio.sleep(0.3)
            assert all(reader.get("acme", "docs") is not None for reader in readers)
            own_nats_server.start()
            revision = await writer.put(indexed(DOCS, number), await stands(writer))
            started = time.monotonic()
            for reader in readers:
                await applied(reader, revision)
                assert reader.get("acme", "docs") == indexed(DOCS, number)
            took.append(time.monotonic() - started)
    say(
        "registry, key-value bucket: the first change after a broker restart is in two readers after "
        f"{', '.join(f'{each * 1e3:.0f}' for each in sorted(took))} ms"
    )


async def stands(store: KvCorpusStore) -> int:
    """The revision, as soon as the broker answers again."""

    async def look() -> int:
        try:
            return (await store.read("acme", "docs")).revision
        except StoreUnavailableError:
            return 0

    revision: int = await eventually(look)
    return revision


async def test_a_broker_that_is_away_is_a_typed_error(own_nats_server: NatsServer) -> None:
    async with replica(own_nats_server) as store:
        await store.put(DOCS, 0)
        own_nats_server.kill()
        with pytest.raises(StoreUnavailableError, match="the bus"):
            await store.read("acme", "docs")
        with pytest.raises(StoreUnavailableError, match="the bus"):
            await store.put(CorpusCard(tenant="acme", corpus="more"), 0)
