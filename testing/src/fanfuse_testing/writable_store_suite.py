"""What only a registry can do whose corpora come and go while processes run: a store's test class inherits this.

In: stores on one registry. Out: the tests of `StoreSuite`, and those of creating, deleting and foreign values.
"""

from abc import abstractmethod

import pytest

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.corpus_store import ConflictError, UnreadableCardError
from fanfuse_testing.flow import eventually
from fanfuse_testing.store_suite import ARCHIVE, CARDS, DOCS, LEGAL, OTHERS, StoreSuite, applied


class WritableStoreSuite(StoreSuite):
    """For a registry whose corpora come and go while processes run."""

    @abstractmethod
    async def write_raw(self, tenant: str, corpus: str, value: bytes) -> None:
        """Put JSON under a name, as something else than this version would."""

    async def spoil(self, tenant: str, corpus: str) -> None:
        """A card of a version with other fields."""
        await self.write_raw(tenant, corpus, b'{"tenant": "acme", "corpus": "spoilt", "chunks": "many"}')

    async def fill(self, cards: tuple[CorpusCard, ...]) -> None:
        """Write them in an order that is not theirs."""
        async with self.writing() as store:
            for card in sorted(cards, key=lambda each: each.corpus, reverse=True):
                await store.put(card, 0)

    async def test_a_corpus_is_created_once(self) -> None:
        """Revision 0 stands for "never written", and only for that."""
        async with self.writing() as store, self.following() as reader:
            with pytest.raises(ConflictError):
                await store.put(DOCS, 7)
            revision = await store.put(DOCS, 0)
            with pytest.raises(ConflictError):
                await store.put(LEGAL.model_copy(update={"corpus": "docs"}), 0)
            await applied(reader, revision)
            assert reader.of_tenant("acme") == (DOCS,)

    async def test_a_deleted_corpus_is_gone_and_can_come_back(self) -> None:
        """Deleting needs the revision that stands, and so does writing it again."""
        await self.fill(CARDS)
        async with self.writing() as store, self.following() as reader:
            stands = await store.read("acme", "docs")
            for stale in (0, stands.revision + 100):
                with pytest.raises(ConflictError):
                    await store.delete("acme", "docs", stale)
            assert await store.read("acme", "docs") == stands
            gone = await store.delete("acme", "docs", stands.revision)
            assert gone > stands.revision
            await applied(reader, gone)
            assert reader.get("acme", "docs") is None
            assert reader.of_tenant("acme") == (ARCHIVE, LEGAL)
            assert [found.card for found in await store.read_all()] == [ARCHIVE, LEGAL, OTHERS]
            left = await store.read("acme", "docs")
            assert left.card is None
            with pytest.raises(ConflictError):
                await store.put(DOCS, stands.revision)
            again = await store.put(DOCS, left.revision)
            await applied(reader, again)
            assert reader.get("acme", "docs") == DOCS

    async def test_an_unreadable_card_is_absent_and_named(self) -> None:
        """Readers fail closed; who reads it by name is told; it can be put right."""
        await self.fill((DOCS, LEGAL))
        async with self.writing() as store, self.following() as reader:
            await self.write_raw("acme", "docs", b'{"tenant": "acme", "corpus": "docs", "chunks": -1}')
            await eventually(lambda: reader.get("acme", "docs") is None)
            with pytest.raises(UnreadableCardError, match=r"corpus docs of tenant acme.*chunks") as found:
                await store.read("acme", "docs")
            await self.write_raw("acme", "docs", DOCS.to_json())
            await eventually(lambda: reader.get("acme", "docs") == DOCS)
            await self.write_raw("acme", "docs", b'{"chunks": -1}')
            with pytest.raises(ConflictError):
                await store.delete("acme", "docs", found.value.revision)
            (unreadable,) = [each for each in await store.read_all() if each.fault is not None]
            await applied(reader, await store.delete("acme", "docs", unreadable.revision))
            assert (await store.read("acme", "docs")).card is None

    async def test_a_card_under_another_s_name_is_never_told(self) -> None:
        """A tenant is never shown a card of another, whatever somebody wrote."""
        await self.fill((DOCS, OTHERS))
        async with self.writing() as store, self.following() as reader:
            await self.write_raw("acme", "stolen", OTHERS.to_json())
            revision = await store.put(LEGAL, 0)
            await applied(reader, revision)
            assert reader.of_tenant("acme") == (DOCS, LEGAL)
            found = await store.read_all()
            assert [each.card for each in found] == [DOCS, LEGAL, None, OTHERS]
            assert "globex/docs" in str(found[2].fault)
            with pytest.raises(UnreadableCardError, match="globex/docs"):
                await store.read("acme", "stolen")

    async def test_what_a_newer_version_added_is_left_aside(self) -> None:
        """An unknown field is no reason to lose a corpus during an upgrade."""
        async with self.following() as reader:
            await self.write_raw("acme", "legal", LEGAL.to_json()[:-1] + b', "invented_later": {"deep": [1]}}')
            await eventually(lambda: reader.get("acme", "legal") == LEGAL)
