"""Reading all of a bucket: nats-py may say "all told" before the first value, or never; neither may hide a corpus."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import nats
import pytest
from nats.js.kv import KeyValue

from fanfuse_contracts import streams
from fanfuse_runtime.bucket_watch import ALL_TOLD, BucketWatch, present_entries, watched
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.clock import BrokerClock
from fanfuse_runtime.kv_store import KvCorpusStore
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.setup import ensure_bucket
from fanfuse_testing.flow import eventually
from fanfuse_testing.store_suite import DOCS, LEGAL

NAME = streams.CORPORA.name


@pytest.fixture
async def bus(nats_server: NatsServer) -> AsyncIterator[Bus]:
    client = await nats.connect(nats_server.url)
    await ensure_bucket(client.jetstream(), streams.CORPORA)
    yield Bus(client, BrokerClock(), "test")
    await client.close()


@pytest.fixture
async def bucket(bus: Bus) -> KeyValue:
    return await bus.js.key_value(NAME)


@pytest.fixture
def early_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's "nothing is pending" overtakes the values it has sent: seen once in a few thousand reads."""
    watch = KeyValue.watch

    async def marked(self: KeyValue, keys: Any, **how: Any) -> KeyValue.KeyWatcher:
        watcher = await watch(self, keys, **how)
        late: asyncio.Queue[Any] = asyncio.Queue()
        late.put_nowait(None)
        await eventually(lambda: watcher._init_done)
        while not watcher._updates.empty():
            update = watcher._updates.get_nowait()
            if update is not None:
                late.put_nowait(update)
        watcher._updates = late
        return watcher

    monkeypatch.setattr(KeyValue, "watch", marked)


async def filled(bucket: KeyValue) -> None:
    for card in (DOCS, LEGAL):
        await bucket.put(streams.corpus_key(card.tenant, card.corpus), card.to_json())


async def told(watch: BucketWatch) -> list[str]:
    keys: list[str] = []
    while (entry := await watch.next()) is not ALL_TOLD:
        assert isinstance(entry, KeyValue.Entry)
        keys.append(entry.key)
    return keys


async def test_an_empty_bucket_is_all_told_and_changes_follow(bus: Bus, bucket: KeyValue) -> None:
    async with watched(bus, bucket) as watch:
        assert await told(watch) == []
        await filled(bucket)
        entries = [await watch.next(), await watch.next()]
    assert [entry.value for entry in entries if isinstance(entry, KeyValue.Entry)] == [DOCS.to_json(), LEGAL.to_json()]


async def test_a_cancelled_wait_loses_nothing(bus: Bus, bucket: KeyValue) -> None:
    async with watched(bus, bucket) as watch:
        assert await told(watch) == []
        for _ in range(3):
            waiting = asyncio.create_task(watch.next())
            await asyncio.sleep(0.01)
            assert waiting.cancel(), "nothing has changed yet"
        await filled(bucket)
        entries = [await watch.next(), await watch.next()]
    assert [entry.key for entry in entries if isinstance(entry, KeyValue.Entry)] == ["acme.docs", "acme.legal"]


async def test_values_that_were_deleted_are_not_present(bus: Bus, bucket: KeyValue) -> None:
    await filled(bucket)
    await bucket.delete("acme.legal")
    assert [entry.key for entry in await present_entries(bus, bucket)] == ["acme.docs"]
    await bucket.delete("acme.docs")
    assert await present_entries(bus, bucket) == []


@pytest.mark.usefixtures("early_mark")
async def test_a_mark_before_the_first_value_hides_no_value(bus: Bus, bucket: KeyValue) -> None:
    await filled(bucket)
    assert sorted(entry.key for entry in await present_entries(bus, bucket)) == ["acme.docs", "acme.legal"]
    async with watched(bus, bucket) as watch:
        assert sorted(await told(watch)) == ["acme.docs", "acme.legal"]


@pytest.mark.usefixtures("early_mark")
async def test_a_process_is_not_ready_before_it_knows_every_corpus(bus: Bus, bucket: KeyValue) -> None:
    await filled(bucket)
    store = KvCorpusStore(bus)
    await store.start()
    try:
        assert dict(store.values) == {"acme.docs": DOCS, "acme.legal": LEGAL}
        gone: list[str] = []
        store.on_change(lambda key, card: gone.append(key) if card is None else None)
        store.reread()
        await bucket.delete("acme.legal")
        await eventually(lambda: "acme.legal" not in store.values)
        assert gone == ["acme.legal"], "a new watch dropped nothing that is there"
    finally:
        await store.stop()
