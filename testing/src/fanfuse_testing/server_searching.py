"""How every engine server searches: order, ties, filters, ids, isolation by tenant, corpus and generation."""

import asyncio
import random
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings

from fanfuse_backend_workers.servers import IndexKey, ServerBackend
from fanfuse_contracts.filters import Filter, Leaf, Op, leaves
from fanfuse_testing.engine_suite import CORPUS, chunk, filtered_chunks, request
from fanfuse_testing.filter_reference import FILTERS, holds
from fanfuse_testing.server_case import Connect, ServerCase, card_of, delete_all, found, found_or_refused, write
from fanfuse_testing.typed_filters import TYPED_FILTERS, typed_metadata


class SearchingCases(ServerCase):
    """Searches of one generation and of several."""

    filters: ClassVar[int] = 150
    """How many generated filters are tried, of those that fit the fields' types and of those that do not."""

    def answers_right(self, condition: Filter) -> bool:
        """False for a filter about which a stand-in is known to be wrong; the real server never is."""
        return True

    async def test_hits_come_best_first_with_hash_and_title(self, backend: ServerBackend, key: IndexKey) -> None:
        """Order, content hash and title."""
        strengths = random.Random(7).sample(range(1, 11), 10)
        engine = await self.opened(backend, key, [chunk(f"c{strength:02}", strength) for strength in strengths])
        hits = (await engine.search(request(tenant=key.tenant))).hits
        assert [hit.chunk_id for hit in hits] == [f"c{strength:02}" for strength in range(10, 0, -1)]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert (hits[0].content_hash, hits[0].title) == (f"{10:016x}", "Title")

    async def test_window_is_a_prefix_and_ties_go_by_chunk_id(self, backend: ServerBackend, key: IndexKey) -> None:
        """FUS-07: the engine's own order of ties, and where it cuts them, never shows."""
        names = [f"c{number:03}" for number in range(300)]
        shuffled = random.Random(3).sample(names, len(names))
        engine = await self.opened(backend, key, [*(chunk(name, 5) for name in shuffled), chunk("zz-best", 6)])
        everything = await found(engine, request(tenant=key.tenant, window=500))
        assert everything == ["zz-best", *names]
        for window in (1, 2, 3, 10, 299, 300, 301):
            assert await found(engine, request(tenant=key.tenant, window=window)) == everything[:window]

    async def test_filter_is_applied_before_the_window(self, backend: ServerBackend, key: IndexKey) -> None:
        """A filter is no filter of the best hits."""
        chunks = [chunk(f"c{number:03}", 9, {"year": 2020}) for number in range(200)]
        engine = await self.opened(backend, key, [*chunks, chunk("rare", 1, {"year": 1999})])
        condition = Leaf(field="year", op=Op.EQ, value=1999)
        assert await found(engine, request(tenant=key.tenant, window=3, condition=condition)) == ["rare"]

    @pytest.mark.parametrize(
        "chunk_id",
        ["legal/handbook.md#3", "7-2", "-1", str(2**64), "0", "a b\tc", 'x"y\\z', "*", "_all", "x" * 512, "文" * 512],
    )
    async def test_any_chunk_id_comes_back_as_it_was(
        self, backend: ServerBackend, key: IndexKey, chunk_id: str
    ) -> None:
        """QDR-02, FUS-02: an engine's own ids never show; every call takes the chunk's own."""
        engine = await self.opened(backend, key, [chunk(chunk_id), chunk("other", 2)])
        assert await found(engine, request(tenant=key.tenant)) == ["other", chunk_id]
        assert [text.chunk_id for text in await backend.texts(card_of(backend, key), [chunk_id])] == [chunk_id]
        assert await backend.delete(key, [chunk_id]) == 1
        await backend.refresh(key)
        assert await found(engine, request(tenant=key.tenant)) == ["other"]

    async def test_many_searches_run_at_once_and_cancelling_some_harms_none(
        self, backend: ServerBackend, key: IndexKey
    ) -> None:
        """More searches than connections; every third is cancelled at some moment."""
        engine = await self.opened(backend, key, [chunk(f"c{number}", 1 + number % 10) for number in range(50)])
        asked = request(tenant=key.tenant)
        expected = await found(engine, asked)
        searches = [asyncio.create_task(found(engine, asked)) for _ in range(60)]
        for number, search in enumerate(searches[::3]):
            await asyncio.sleep(0.002 * (number % 3))
            search.cancel()
        outcomes = await asyncio.gather(*searches, return_exceptions=True)
        assert [one for one in outcomes if isinstance(one, Exception)] == []
        kept = [one for number, one in enumerate(outcomes) if number % 3]
        assert kept == [expected] * 40
        assert await found(engine, asked) == expected

    async def test_tenant_and_corpus_are_part_of_the_search(self, backend: ServerBackend, key: IndexKey) -> None:
        """A wrong tenant or corpus finds nothing, even through an engine opened for the right one."""
        engine = await self.opened(backend, key, [chunk("c1")])
        assert await found(engine, request(tenant="globex")) == []
        assert await found(engine, request(tenant=key.tenant, corpus="other")) == []
        assert await found(engine, request(tenant=key.tenant)) == ["c1"]

    async def test_tenants_corpora_and_generations_stay_apart(
        self, backend: ServerBackend, connect: Connect, key: IndexKey
    ) -> None:
        """FUS-11: equal chunk ids in four places are four chunks, whatever their names look like joined."""
        other = f"{key.tenant}-docs"
        keys = [
            key,
            key._replace(generation="g2"),
            IndexKey(key.tenant, f"{CORPUS}-g1", "g1"),
            IndexKey(other, "g1", "g1"),
        ]
        for strength, one in enumerate(keys, start=2):
            await write(backend, one, [chunk("doc-1#0", strength)])
        for strength, one in enumerate(keys, start=2):
            engine = await backend.open(card_of(backend, one))
            hits = (await engine.search(request(tenant=one.tenant, corpus=one.corpus))).hits
            assert [(hit.chunk_id, hit.content_hash) for hit in hits] == [("doc-1#0", f"{strength:016x}")]
            assert await backend.count(one) == 1
        assert await backend.delete(key) == 1
        assert [await backend.count(one) for one in keys[1:]] == [1, 1, 1]
        await delete_all(connect(), other)

    async def test_names_that_join_to_one_string_do_not_meet(self, backend: ServerBackend, tenant: str) -> None:
        """`docs` + `a-b` and `docs-a` + `b` are two generations."""
        first, second = IndexKey(tenant, "docs", "a-b"), IndexKey(tenant, "docs-a", "b")
        await write(backend, first, [chunk("c1"), chunk("c2")])
        await write(backend, second, [chunk("c3")])
        assert await backend.generations(tenant, "docs") == ("a-b",)
        assert await backend.generations(tenant, "docs-a") == ("b",)
        assert await backend.delete(first) == 2
        assert await backend.count(second) == 1

    def test_typed_filters_hold_exactly(self, connect: Connect, key: IndexKey) -> None:
        """TEN-02: filters that fit the fields' types over 80 chunks, against a plain evaluator."""
        chunks = [chunk(f"c{number:03}", metadata=one) for number, one in enumerate(typed_metadata(80))]
        with asyncio.Runner() as runner:
            backend = connect()
            engine = runner.run(self.opened(backend, key, chunks))

            @settings(max_examples=self.filters, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(TYPED_FILTERS.filter(self.answers_right))
            def check(condition: Filter) -> None:
                ids = runner.run(found_or_refused(engine, request(tenant=key.tenant, condition=condition)))
                possible = {leaf.op for leaf in leaves(condition)} <= engine.operators
                expected = [c.chunk_id for c in chunks if holds(condition, c.metadata)]
                assert ids == (expected if possible else None)

            check()
            runner.run(backend.delete(key))
            runner.run(backend.close())

    def test_values_of_any_type_are_compared_exactly_or_refused(self, connect: Connect, key: IndexKey) -> None:
        """TEN-02: filters whose values and fields do not fit the declared types, over chunks that do not either."""
        chunks = filtered_chunks(60)
        with asyncio.Runner() as runner:
            backend = connect()
            engine = runner.run(self.opened(backend, key, chunks))

            @settings(max_examples=self.filters, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(FILTERS.filter(self.answers_right))
            def check(condition: Filter) -> None:
                ids = runner.run(found_or_refused(engine, request(tenant=key.tenant, condition=condition)))
                assert ids in (None, [c.chunk_id for c in chunks if holds(condition, c.metadata)])

            check()
            runner.run(backend.delete(key))
            runner.run(backend.close())
