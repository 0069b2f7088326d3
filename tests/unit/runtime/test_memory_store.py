"""The registry in the configuration file: the store suite, and what only a file does."""

import json
from pathlib import Path
from typing import Any

import pytest

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType
from fanfuse_runtime.corpus_store import ReadOnlyStoreError, Registered, StoreUnavailableError
from fanfuse_runtime.memory_store import FILE, MemoryCorpusStore
from fanfuse_testing.flow import eventually
from fanfuse_testing.store_suite import ARCHIVE, DOCS, LEGAL, StoreSuite, indexed


class TestMemoryStore(StoreSuite):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self._data = tmp_path / "data"

    async def fill(self, cards: tuple[CorpusCard, ...]) -> None:
        self._cards = cards[::-1]

    def store(self) -> MemoryCorpusStore:
        return MemoryCorpusStore(self._cards, self._data)

    async def spoil(self, tenant: str, corpus: str) -> None:
        path = self._data / FILE
        content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"revision": 1, "corpora": {}}
        content["corpora"][f"{tenant}.{corpus}"] = {"revision": "many"}
        content["corpora"]["acme.archive"] = {"chunks": -1}
        self._data.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))


@pytest.fixture
def store(tmp_path: Path) -> MemoryCorpusStore:
    return MemoryCorpusStore((DOCS, LEGAL), tmp_path)


async def test_what_index_found_is_kept_in_the_data_directory_and_joined_with_the_file(tmp_path, store):
    found = {"embedder": EmbedderSpec(model="m", dimensions=3), "fields": DOCS.fields | {"lang": FieldType.STRING}}
    card = indexed(DOCS, 5).model_copy(update=found)
    revision = await store.put(card, 0)

    renamed = DOCS.model_copy(update={"display_name": "renamed in the file", "term_weights": {"new": 1.0}})
    restarted = MemoryCorpusStore((renamed, LEGAL), tmp_path)
    await restarted.start()
    try:
        assert restarted.get("acme", "docs") == card.model_copy(
            update={"display_name": "renamed in the file", "term_weights": {"new": 1.0}}
        )
        assert restarted.revision == revision
        assert restarted.get("acme", "legal") == LEGAL
    finally:
        await restarted.stop()


async def test_what_the_file_states_can_t_be_changed_and_the_message_says_where(store):
    changed = indexed(DOCS, 1).model_copy(update={"description": "x", "public": True})
    with pytest.raises(ReadOnlyStoreError, match=r"description, public of corpus docs: .*file.*change it there"):
        await store.put(changed, 0)
    with pytest.raises(ReadOnlyStoreError, match=r"archive of tenant acme is not in the file.*add it"):
        await store.put(ARCHIVE, 0)
    with pytest.raises(ReadOnlyStoreError, match="take it out of section corpora"):
        await store.delete("acme", "docs", 0)
    dropped = indexed(DOCS, 1).model_copy(update={"fields": {}})
    with pytest.raises(ReadOnlyStoreError, match="fields of corpus docs"):
        await store.put(dropped, 0)
    assert await store.read("acme", "docs") == Registered(DOCS, 0)


async def test_an_index_that_contradicts_the_file_is_not_served_and_can_be_made_anew(tmp_path):
    spec = {"embedder": EmbedderSpec(model="old", dimensions=3)}
    await MemoryCorpusStore((LEGAL,), tmp_path).put(indexed(LEGAL, 1).model_copy(update=spec), 0)

    stated = LEGAL.model_copy(update={"embedder": EmbedderSpec(model="new", dimensions=3)})
    store = MemoryCorpusStore((stated,), tmp_path)
    found = await store.read("acme", "legal")
    assert (found.card, found.revision) == (stated, 1)
    await store.put(indexed(stated, 2), found.revision)
    assert (await store.read("acme", "legal")).card == indexed(stated, 2)


async def test_a_file_of_indexes_that_is_damaged_or_removed_is_said_and_survived(tmp_path, store):
    path = tmp_path / FILE
    revision = await store.put(indexed(DOCS, 1), 0)
    await store.start()
    try:
        path.write_bytes(b"{")
        with pytest.raises(StoreUnavailableError, match=f"{FILE} can't be read: remove it"):
            await store.read("acme", "docs")
        assert store.get("acme", "docs") == indexed(DOCS, 1)
        path.unlink()
        await eventually(lambda: store.get("acme", "docs") == DOCS)
        assert store.revision < revision
        again = await store.put(indexed(DOCS, 2), 0)
        await eventually(lambda: store.revision >= again)
        assert store.get("acme", "docs") == indexed(DOCS, 2)
    finally:
        await store.stop()


async def test_it_is_made_of_the_operators_file(tmp_path):
    config = FanfuseConfig.model_validate(
        {"registry": {"store": "memory"}, "corpora": [{"id": "docs", "tenant_id": "acme", "card": {"public": True}}]}
    )
    store = MemoryCorpusStore(config.cards(), tmp_path)
    await store.start()
    try:
        (card,) = store.of_tenant("acme")
        assert (card.public, len(card.backends)) == (True, 3)
    finally:
        await store.stop()
