"""What every engine server holds: writing twice, texts, counts, deleting, publishing, closing."""

import pytest

from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import IndexKey, ServerBackend
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import Op
from fanfuse_testing.engine_suite import chunk, request
from fanfuse_testing.server_case import Connect, ServerCase, card_of, found, write


class ContentCases(ServerCase):
    """The life of generations and clients."""

    async def test_an_empty_generation_has_no_hit(self, backend: ServerBackend, key: IndexKey) -> None:
        """An empty corpus is searched like any other, and is not a missing one."""
        engine = await self.opened(backend, key, [])
        assert await backend.count(key) == await engine.count() == 0
        assert (await engine.search(request(tenant=key.tenant))).hits == ()
        assert await backend.texts(card_of(backend, key), ["c1"]) == []

    async def test_what_is_missing_is_named(self, backend: ServerBackend, key: IndexKey) -> None:
        """A generation that does not exist is no empty generation."""
        assert await backend.generations(key.tenant, key.corpus) == ()
        with pytest.raises(SearchError) as counted:
            await backend.count(key)
        with pytest.raises(SearchError) as opened:
            await backend.open(card_of(backend, key))
        with pytest.raises(SearchError) as never_indexed:
            await backend.open(card_of(backend, key).model_copy(update={"generation": None}))
        assert {error.value.kind for error in (counted, opened, never_indexed)} == {FailureKind.NOT_FOUND}

    async def test_writing_twice_is_writing_once(self, backend: ServerBackend, key: IndexKey) -> None:
        """A batch sent again after a lost reply adds nothing; a chunk written again is replaced."""
        batch = [chunk(f"c{number}", 2) for number in range(20)]
        engine = await self.opened(backend, key, batch)
        await backend.upsert(key, batch)
        await backend.upsert(key, [chunk("c7", 9)])
        await backend.refresh(key)
        assert await backend.count(key) == await engine.count() == 20
        hits = (await engine.search(request(tenant=key.tenant))).hits
        assert (len(hits), hits[0].chunk_id, hits[0].content_hash) == (20, "c7", f"{9:016x}")

    async def test_a_run_goes_on_in_another_process(
        self, backend: ServerBackend, connect: Connect, key: IndexKey
    ) -> None:
        """Making what is there changes nothing; the second client adds to what the first wrote."""
        await write(backend, key, [chunk("c1", 2)])
        second = connect()
        await write(second, key, [chunk("c2", 1)])
        engine = await second.open(card_of(second, key))
        assert await found(engine, request(tenant=key.tenant)) == ["c1", "c2"]
        await second.close()

    async def test_a_full_batch_and_an_empty_one(self, backend: ServerBackend, key: IndexKey) -> None:
        """500 chunks at once, none at once."""
        await write(backend, key, [chunk(f"c{number:04}", 1 + number % 10) for number in range(500)])
        await backend.upsert(key, [])
        assert await backend.count(key) == 500

    async def test_endless_tokens_and_unspaced_text_are_written(self, backend: ServerBackend, key: IndexKey) -> None:
        """ING-04: a 40 kB token, blanks and a Chinese paragraph break no batch, and come back as they were."""
        texts = {"long": "before " + "QUJD" * 10_000 + " after", "blank": "   ", "chinese": "行程" * 750}
        await write(backend, key, [chunk(name).model_copy(update={"text": text}) for name, text in texts.items()])
        assert await backend.count(key) == 3
        given = await backend.texts(card_of(backend, key), list(texts))
        assert {one.chunk_id: one.text for one in given} == texts

    async def test_texts_are_those_of_the_generation(self, backend: ServerBackend, key: IndexKey) -> None:
        """An unknown id is left out; another generation's text never stands in."""
        newer = key._replace(generation="g2")
        await write(backend, key, [chunk("both", 3), chunk("old", 1)])
        await write(backend, newer, [chunk("both", 5).model_copy(update={"source": "a/b.md"})])
        old = {one.chunk_id: one for one in await backend.texts(card_of(backend, key), ["both", "old", "none"])}
        new = await backend.texts(card_of(backend, newer), ["both", "old", "none"])
        assert old.keys() == {"both", "old"}
        assert old["both"].text == chunk("both", 3).text
        assert [(one.chunk_id, one.text, one.source) for one in new] == [("both", chunk("both", 5).text, "a/b.md")]
        assert await backend.texts(card_of(backend, key), []) == []

    async def test_a_whole_window_of_texts(self, backend: ServerBackend, key: IndexKey) -> None:
        """500 texts in one call."""
        names = [f"c{number:03}" for number in range(500)]
        await write(backend, key, [chunk(name) for name in names])
        given = await backend.texts(card_of(backend, key), names)
        assert sorted(one.chunk_id for one in given) == names

    async def test_deleting_chunks_and_generations(self, backend: ServerBackend, key: IndexKey) -> None:
        """It says how many there were; what is gone is missing, not empty."""
        engine = await self.opened(backend, key, [chunk(f"c{number}") for number in range(5)])
        assert await backend.delete(key, ["c1", "c3", "nothing"]) == 2
        await backend.refresh(key)
        assert await found(engine, request(tenant=key.tenant)) == ["c0", "c2", "c4"]
        assert await backend.delete(key, []) == 0
        assert await backend.delete(key) == 3
        assert await backend.delete(key) == 0
        assert await backend.generations(key.tenant, key.corpus) == ()
        with pytest.raises(SearchError) as missing:
            await backend.open(card_of(backend, key))
        assert missing.value.kind is FailureKind.NOT_FOUND

    async def test_publishing_moves_on_and_back(self, backend: ServerBackend, key: IndexKey) -> None:
        """Two generations live side by side; what is searched is what the card says, before and after."""
        newer = key._replace(generation="g2")
        first = await self.opened(backend, key, [chunk("c1", 1)])
        await backend.publish(key)
        second = await self.opened(backend, newer, [chunk("c2", 1)])
        for published in (newer, newer, key, newer):
            await backend.publish(published)
            assert await found(first, request(tenant=key.tenant)) == ["c1"]
            assert await found(second, request(tenant=key.tenant)) == ["c2"]
        assert await backend.generations(key.tenant, key.corpus) == ("g1", "g2")
        assert await backend.delete(key) == 1
        assert await backend.generations(key.tenant, key.corpus) == ("g2",)
        assert await found(second, request(tenant=key.tenant)) == ["c2"]

    async def test_publishing_nothing_is_refused(self, backend: ServerBackend, key: IndexKey) -> None:
        """An alias never points to what is not there."""
        with pytest.raises(SearchError) as missing:
            await backend.publish(key)
        assert missing.value.kind is FailureKind.NOT_FOUND

    async def test_kind_operators_and_health(self, backend: ServerBackend, key: IndexKey) -> None:
        """What a server says of itself."""
        engine = await self.opened(backend, key, [chunk("c1")])
        assert engine.kind is backend.kind is self.kind
        assert engine.operators == backend.operators
        assert backend.operators <= frozenset(Op)
        await backend.health()

    async def test_closing_an_engine_leaves_the_client_open(self, backend: ServerBackend, key: IndexKey) -> None:
        """Closing twice is no error; searching afterwards is a typed one."""
        engine = await self.opened(backend, key, [chunk("c1")])
        other = await backend.open(card_of(backend, key))
        await engine.close()
        await engine.close()
        with pytest.raises(SearchError) as refused:
            await engine.search(request(tenant=key.tenant))
        assert refused.value.kind is FailureKind.UNAVAILABLE
        assert await found(other, request(tenant=key.tenant)) == ["c1"]

    async def test_a_closed_client_says_unavailable(
        self, backend: ServerBackend, connect: Connect, key: IndexKey
    ) -> None:
        """Of every call, and of engines opened before."""
        await write(backend, key, [chunk("c1")])
        closing = connect()
        engine = await closing.open(card_of(closing, key))
        await closing.close()
        await closing.close()
        for call in (engine.search(request(tenant=key.tenant)), closing.count(key), closing.health()):
            with pytest.raises(SearchError) as refused:
                await call
            assert refused.value.kind is FailureKind.UNAVAILABLE
