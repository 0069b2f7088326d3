"""The behaviour of every search engine, written once: an adapter's test class inherits `EngineSuite`.

In: an index builder. Out: tests of order, ties, isolation, filters, emptiness and closing. One query finds every chunk
made by `chunk()` in engines of all three kinds; a higher `strength` ranks higher in each.
"""

import asyncio
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings

from fanfuse_backend_workers.ports import IndexBuilder, SearchEngine, SearchError, SearchRequest
from fanfuse_contracts.chunks import Chunk, MetadataValue
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import Filter, Leaf, Op, leaves
from fanfuse_testing.filter_reference import FILTERS, METADATA, holds

TENANT, CORPUS = "acme", "docs"
SEEDS = tuple(f"Seed {number}" for number in range(10))
WORDS = 10


def chunk(chunk_id: str, strength: int = 1, metadata: dict[str, MetadataValue] | None = None) -> Chunk:
    """A chunk that `request()` finds; strength 1 to 10 in a unit of its own for each kind."""
    angle = (WORDS - strength) * 0.1
    return Chunk(
        chunk_id=chunk_id,
        text=" ".join(["apollo"] * strength + ["filler"] * (WORDS - strength)),
        title="Title",
        content_hash=f"{strength:016x}",
        metadata=metadata or {},
        entities=SEEDS[:strength],
        vector=(math.cos(angle), math.sin(angle), 0.0, 0.0),
    )


_TIMEOUT_S = 60.0
"""Of a search that no test means to be late: a server that plans a new filter beside other servers takes seconds."""


def request(
    *, tenant: str = TENANT, corpus: str = CORPUS, window: int = 100, condition: Filter | None = None
) -> SearchRequest:
    """A search that finds every chunk of `chunk()`."""
    return SearchRequest(
        tenant=tenant,
        corpus=corpus,
        text="apollo",
        window=window,
        timeout_s=_TIMEOUT_S,
        vector=(1.0, 0.0, 0.0, 0.0),
        seeds=SEEDS,
        filter=condition,
    )


def filtered_chunks(count: int) -> list[Chunk]:
    """Chunks with metadata of every type, the same in every run."""
    drawn: list[dict[str, MetadataValue]] = []

    @settings(max_examples=count, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(METADATA)
    def draw(metadata: dict[str, MetadataValue]) -> None:
        drawn.append(metadata)

    draw()
    return [chunk(f"c{number:03}", metadata=metadata) for number, metadata in enumerate(drawn)]


class EngineSuite(ABC):
    """Inherit, and set `kind` and `builder`."""

    kind: ClassVar[Kind]

    @abstractmethod
    def builder(self) -> IndexBuilder:
        """The adapter under test."""

    async def opened(self, folder: Path, chunks: Sequence[Chunk], tenant: str = TENANT) -> SearchEngine:
        """An index of `chunks`, opened."""
        builder = self.builder()
        assert await asyncio.to_thread(_build, builder, folder, tenant, chunks) == len(chunks)
        return await builder.open(folder)

    async def ids(self, engine: SearchEngine, asked: SearchRequest) -> list[str]:
        """Chunk ids of the hits."""
        return [hit.chunk_id for hit in (await engine.search(asked)).hits]

    async def test_hits_come_best_first_with_hash_and_title(self, tmp_path: Path) -> None:
        """Order, content hash and title."""
        strengths = random.Random(7).sample(range(1, 11), 10)
        engine = await self.opened(tmp_path, [chunk(f"c{strength:02}", strength) for strength in strengths])
        hits = (await engine.search(request())).hits
        assert [hit.chunk_id for hit in hits] == [f"c{strength:02}" for strength in range(10, 0, -1)]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert (hits[0].content_hash, hits[0].title) == (f"{10:016x}", "Title")
        await engine.close()

    async def test_window_is_a_prefix_and_ties_go_by_chunk_id(self, tmp_path: Path) -> None:
        """FUS-07: the engine's own order of ties, and where it cuts them, never shows."""
        names = [f"c{number:03}" for number in range(300)]
        shuffled = random.Random(3).sample(names, len(names))
        engine = await self.opened(tmp_path, [*(chunk(name, 5) for name in shuffled), chunk("zz-best", 6)])
        everything = await self.ids(engine, request(window=500))
        assert everything == ["zz-best", *names]
        for window in (1, 2, 3, 10, 299, 300, 301):
            assert await self.ids(engine, request(window=window)) == everything[:window]
        await engine.close()

    async def test_tenant_and_corpus_are_part_of_the_search(self, tmp_path: Path) -> None:
        """A wrong tenant or corpus finds nothing, even in the right index."""
        engine = await self.opened(tmp_path, [chunk("c1")])
        assert await self.ids(engine, request(tenant="globex")) == []
        assert await self.ids(engine, request(corpus="other")) == []
        assert await self.ids(engine, request()) == ["c1"]
        await engine.close()

    async def test_equal_chunk_ids_of_two_tenants_stay_apart(self, tmp_path: Path) -> None:
        """FUS-11: each tenant sees its own chunk."""
        ours = await self.opened(tmp_path / "ours", [chunk("doc-1#0", 3)])
        theirs = await self.opened(tmp_path / "theirs", [chunk("doc-1#0", 9)], tenant="globex")
        assert (await ours.search(request())).hits[0].content_hash == f"{3:016x}"
        assert (await theirs.search(request(tenant="globex"))).hits[0].content_hash == f"{9:016x}"
        await ours.close()
        await theirs.close()

    def test_filters_hold_exactly(self, tmp_path: Path) -> None:
        """TEN-02: 200 filters over 60 chunks against a plain evaluator."""
        chunks = filtered_chunks(60)
        with asyncio.Runner() as runner:
            engine = runner.run(self.opened(tmp_path, chunks))

            @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(FILTERS)
            def check(condition: Filter) -> None:
                if {leaf.op for leaf in leaves(condition)} <= engine.operators:
                    found = runner.run(self.ids(engine, request(condition=condition)))
                    assert found == [c.chunk_id for c in chunks if holds(condition, c.metadata)]
                else:
                    with pytest.raises(SearchError) as refused:
                        runner.run(engine.search(request(condition=condition)))
                    assert refused.value.kind is FailureKind.UNSUPPORTED_FILTER

            check()
            runner.run(engine.close())

    async def test_filter_is_applied_before_the_window(self, tmp_path: Path) -> None:
        """A filter is no filter of the best hits."""
        chunks = [chunk(f"c{number:03}", 9, {"year": 2020}) for number in range(200)]
        engine = await self.opened(tmp_path, [*chunks, chunk("rare", 1, {"year": 1999})])
        condition = Leaf(field="year", op=Op.EQ, value=1999)
        assert await self.ids(engine, request(window=3, condition=condition)) == ["rare"]
        await engine.close()

    @pytest.mark.parametrize(
        "chunk_id",
        ["legal/handbook.md#3", "7-2", "K93TZQ7PLM", "-1", str(2**64), "0", "a b\tc", 'x"y\\z', "中文#1", "x" * 512],
    )
    async def test_any_chunk_id_comes_back_as_it_was(self, tmp_path: Path, chunk_id: str) -> None:
        """QDR-02, FUS-02: an engine's own ids never show."""
        engine = await self.opened(tmp_path, [chunk(chunk_id)])
        assert await self.ids(engine, request()) == [chunk_id]
        await engine.close()

    async def test_an_index_of_nothing_has_no_hit(self, tmp_path: Path) -> None:
        """An empty corpus is searched like any other."""
        engine = await self.opened(tmp_path, [])
        assert await engine.count() == 0
        assert (await engine.search(request())).hits == ()
        await engine.close()

    async def test_count_and_kind(self, tmp_path: Path) -> None:
        """What an engine says of itself."""
        engine = await self.opened(tmp_path, [chunk("a"), chunk("b")])
        assert await engine.count() == 2
        assert engine.kind is self.builder().kind is self.kind
        assert engine.operators == self.builder().operators
        await engine.close()

    async def test_a_closed_engine_says_unavailable(self, tmp_path: Path) -> None:
        """Closing twice is no error; searching afterwards is a typed one."""
        engine = await self.opened(tmp_path, [chunk("a")])
        await engine.close()
        await engine.close()
        with pytest.raises(SearchError) as refused:
            await engine.search(request())
        assert refused.value.kind is FailureKind.UNAVAILABLE

    async def test_many_readers_open_one_index_and_change_no_byte(self, tmp_path: Path) -> None:
        """Replicas share a generation: reading writes nothing."""
        first = await self.opened(tmp_path, [chunk(f"c{number}", 1 + number % 10) for number in range(50)])
        before = dict(_files(tmp_path))
        second = await self.builder().open(tmp_path)
        found = await asyncio.gather(*(self.ids(engine, request()) for engine in (first, second) * 20))
        assert all(ids == found[0] for ids in found)
        await first.close()
        assert await self.ids(second, request()) == found[0]
        await second.close()
        assert dict(_files(tmp_path)) == before

    async def test_a_missing_index_is_named(self, tmp_path: Path) -> None:
        """A folder without an index is no empty index."""
        with pytest.raises(SearchError) as refused:
            await self.builder().open(tmp_path / "nothing")
        assert refused.value.kind is FailureKind.NOT_FOUND


def _build(builder: IndexBuilder, folder: Path, tenant: str, chunks: Sequence[Chunk]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    return builder.build(folder, tenant, CORPUS, iter(chunks))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
