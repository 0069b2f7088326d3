"""The behaviour of every registry of corpora, written once: a store's test class inherits `StoreSuite`.

In: stores on one registry, each as another process would open it. Out: tests of reading, compare-and-set, following,
order, tenants and unreadable values.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from fanfuse_contracts.corpus import CorpusCard, FieldType, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.corpus_store import ConflictError, CorpusStore, Registered
from fanfuse_testing.flow import eventually

DOCS = CorpusCard(
    tenant="acme",
    corpus="docs",
    display_name='Ünicode "quotes" and 中文',
    readers=frozenset({"staff", "admin"}),
    backends=tuple(Wiring(kind=kind, backend="main", pool="main") for kind in Kind),
    fields={"year": FieldType.INTEGER, "a": FieldType.STRING},
    term_weights={"zeta": 0.1, "alpha": 1e-3, "müßig": 2.0},
)
LEGAL = CorpusCard(tenant="acme", corpus="legal", public=True)
ARCHIVE = CorpusCard(tenant="acme", corpus="archive")
OTHERS = CorpusCard(tenant="globex", corpus="docs", display_name="theirs")
CARDS = (DOCS, LEGAL, ARCHIVE, OTHERS)
WRITES = 25


def indexed(card: CorpusCard, number: int) -> CorpusCard:
    """The card after an index run."""
    return card.model_copy(update={"generation": f"g{number}", "chunks": number, "indexed_at": "2026-11-30T10:00:00Z"})


async def applied(reader: CorpusStore, revision: int) -> None:
    """Return when a follower has applied a revision."""
    await eventually(lambda: reader.revision >= revision, every_s=0.001)


class StoreSuite(ABC):
    """Inherit, and say how the registry under test is filled and opened."""

    @abstractmethod
    async def fill(self, cards: tuple[CorpusCard, ...]) -> None:
        """Have exactly these cards in the registry; called once, first."""

    @abstractmethod
    def store(self) -> CorpusStore:
        """A store on this registry, not started yet."""

    @abstractmethod
    async def spoil(self, tenant: str, corpus: str) -> None:
        """Put something into the registry that this version can't read, under this name."""

    @asynccontextmanager
    async def following(self) -> AsyncIterator[CorpusStore]:
        """A started store for the time of a block."""
        store = self.store()
        await store.start()
        try:
            yield store
        finally:
            await store.stop()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[CorpusStore]:
        """A store that follows nothing, as a command uses it."""
        store = self.store()
        try:
            yield store
        finally:
            await store.stop()

    async def test_what_stands_is_read_as_it_was_written(self) -> None:
        """Every card with every field, one by one, all at once, and followed."""
        await self.fill(CARDS)
        async with self.writing() as store, self.following() as reader:
            assert (await store.read("acme", "docs")).card == DOCS
            assert [found.card for found in await store.read_all()] == [ARCHIVE, DOCS, LEGAL, OTHERS]
            assert await store.read("acme", "nothing") == Registered(None, 0)
            assert reader.get("acme", "docs") == DOCS
            assert reader.get("acme", "nothing") is None
            assert dict(reader.values) == {f"{card.tenant}.{card.corpus}": card for card in CARDS}
            assert store.objection(DOCS) is None

    async def test_corpora_of_a_tenant_come_by_id_and_only_its_own(self) -> None:
        """The order is of the ids, never of the registry; an equal name of another tenant is another corpus."""
        await self.fill(CARDS)
        async with self.following() as reader:
            assert reader.of_tenant("acme") == (ARCHIVE, DOCS, LEGAL)
            assert reader.of_tenant("globex") == (OTHERS,)
            assert reader.of_tenant("nobody") == ()
            assert reader.of_tenant("acme") is reader.of_tenant("acme")

    async def test_a_write_needs_the_revision_that_stands(self) -> None:
        """A write over an older revision changes nothing."""
        await self.fill(CARDS)
        async with self.writing() as store:
            before = await store.read("acme", "docs")
            first = await store.put(indexed(DOCS, 1), before.revision)
            with pytest.raises(ConflictError, match="another command changed corpus docs of tenant acme"):
                await store.put(indexed(DOCS, 2), before.revision)
            assert await store.read("acme", "docs") == Registered(indexed(DOCS, 1), first)
            second = await store.put(indexed(DOCS, 3), first)
            assert before.revision < first < second
            with pytest.raises(ConflictError):
                await store.put(indexed(LEGAL, 1), second)
            assert (await store.read("globex", "docs")).card == OTHERS

    async def test_of_writers_at_once_exactly_one_wins(self) -> None:
        """Compare-and-set across processes."""
        await self.fill(CARDS)
        async with self.writing() as one, self.writing() as two:
            before = await one.read("acme", "docs")
            writes = [store.put(indexed(DOCS, number), before.revision) for number, store in enumerate((one, two) * 5)]
            done = await asyncio.gather(*writes, return_exceptions=True)
            won = [number for number, outcome in enumerate(done) if isinstance(outcome, int)]
            assert len(won) == 1
            assert sum(isinstance(outcome, ConflictError) for outcome in done) == 9
            assert (await two.read("acme", "docs")).card == indexed(DOCS, won[0])

    async def test_writers_of_different_corpora_don_t_disturb_each_other(self) -> None:
        """All are stored, each at a revision of its own, and a follower ends at the highest."""
        await self.fill(CARDS)
        async with self.writing() as one, self.writing() as two, self.following() as reader:
            found = await one.read_all()
            revisions = await asyncio.gather(
                *(
                    store.put(indexed(each.card, 7), each.revision)
                    for each, store in zip(found, (one, two) * 2, strict=True)
                    if each.card is not None
                )
            )
            assert len(set(revisions)) == len(CARDS)
            await applied(reader, max(revisions))
            assert {card.generation for card in reader.values.values()} == {"g7"}

    async def test_a_change_is_told_once_known_values_first(self) -> None:
        """`revision` is the one before while a change is told, and at least the change's afterwards."""
        await self.fill(CARDS)
        async with self.writing() as store, self.following() as reader:
            heard: list[tuple[str, str | None, int]] = []
            reader.on_change(lambda key, card: heard.append((key, card.generation if card else None, reader.revision)))
            assert sorted(key for key, _, _ in heard) == ["acme.archive", "acme.docs", "acme.legal", "globex.docs"]
            heard.clear()
            revision = await store.put(indexed(DOCS, 1), (await store.read("acme", "docs")).revision)
            await applied(reader, revision)
            assert [(key, generation) for key, generation, _ in heard] == [("acme.docs", "g1")]
            assert heard[0][2] < revision

    async def test_the_revision_rises_with_every_write_and_never_falls(self) -> None:
        """Also what is heard of in between: the last state is reached, no older one comes after a newer one."""
        await self.fill(CARDS)
        async with self.writing() as store, self.following() as reader:
            seen: list[tuple[int, int]] = []
            reader.on_change(lambda _key, card: seen.append((reader.revision, card.chunks if card else -1)))
            seen.clear()
            revision = (await store.read("acme", "docs")).revision
            for number in range(1, WRITES + 1):
                written = await store.put(indexed(DOCS, number), revision)
                assert written > revision
                revision = written
            await applied(reader, revision)
            assert seen == sorted(seen)
            assert seen[-1][1] == WRITES
            assert reader.get("acme", "docs") == indexed(DOCS, WRITES)

    async def test_two_readers_follow_a_writer_in_a_second(self, say: Callable[[str], None]) -> None:
        """The time is measured and told; the limit of the test is a generous one."""
        await self.fill(CARDS)
        took: list[float] = []
        async with self.writing() as store, self.following() as one, self.following() as two:
            revision = (await store.read("acme", "docs")).revision
            for number in range(1, 11):
                revision = await store.put(indexed(DOCS, number), revision)
                started = time.monotonic()
                for reader in (one, two):
                    await applied(reader, revision)
                    assert reader.get("acme", "docs") == indexed(DOCS, number)
                took.append(time.monotonic() - started)
        took.sort()
        say(
            f"registry, {type(self).__name__}: a change is in two readers after "
            f"{took[len(took) // 2] * 1e3:.1f} ms (median of 10), at most {took[-1] * 1e3:.1f} ms"
        )

    async def test_a_late_reader_knows_all(self) -> None:
        """What was written before it started."""
        await self.fill(CARDS)
        async with self.writing() as store:
            revision = await store.put(indexed(DOCS, 1), (await store.read("acme", "docs")).revision)
            async with self.following() as late:
                assert late.get("acme", "docs") == indexed(DOCS, 1)
                assert late.revision >= revision

    async def test_an_unreadable_value_blinds_nobody(self) -> None:
        """Everything else is read and followed as before, also by a reader that starts afterwards."""
        await self.fill(CARDS)
        async with self.writing() as store, self.following() as early:
            await self.spoil("acme", "spoilt")
            async with self.following() as late:
                revision = await store.put(indexed(LEGAL, 1), (await store.read("acme", "legal")).revision)
                for reader in (early, late):
                    await applied(reader, revision)
                    assert reader.of_tenant("acme") == (ARCHIVE, DOCS, indexed(LEGAL, 1))
            found = [each.card for each in await store.read_all() if each.fault is None]
            assert found == [ARCHIVE, DOCS, indexed(LEGAL, 1), OTHERS]

    async def test_a_callback_that_fails_blinds_nobody(self) -> None:
        """A fault of who hears is not a fault of the registry."""
        await self.fill(CARDS)
        async with self.writing() as store, self.following() as reader:
            faults = [ValueError("a callback's fault")]

            def fail_once(_key: str, card: CorpusCard | None) -> None:
                if card is not None and card.chunks and faults:
                    raise faults.pop()

            reader.on_change(fail_once)
            await store.put(indexed(DOCS, 1), (await store.read("acme", "docs")).revision)
            revision = await store.put(indexed(LEGAL, 2), (await store.read("acme", "legal")).revision)
            await applied(reader, revision)
            assert not faults
            assert reader.get("acme", "legal") == indexed(LEGAL, 2)
