"""Index generations: complete or absent, never half; built beside what is live; everything is there to build again."""

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from fanfuse_backend_workers.adapters.embedded import engines_in, index_builder, texts_in
from fanfuse_backend_workers.adapters.sqlite_texts import DuplicateChunkError
from fanfuse_backend_workers.generations import (
    BuiltGeneration,
    CorpusName,
    GenerationError,
    build_generation,
    generation_folder,
    generation_id,
    open_texts,
    read_chunks,
    remove_unused,
)
from fanfuse_backend_workers.ports import IndexBuilder, SearchEngine, SearchError, SearchRequest
from fanfuse_contracts.chunks import Chunk, Triple
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import Leaf, Op

NAME = CorpusName("acme", "docs")
ALL = [index_builder(kind) for kind in Kind]


class CountingEmbedder:
    model, dimensions = "counting", 3
    languages: tuple[str, ...] | None = None

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen += texts
        return [[1.0, float(len(text)), 0.5] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def chunk(name: str, text: str = "alpha beta", vector: tuple[float, ...] | None = None) -> Chunk:
    return Chunk(
        chunk_id=name,
        text=text,
        title=f"Title {name}",
        source=f"{name}.md",
        document_id="doc",
        content_hash="0",
        metadata={"year": 2020, "tags": ("a", "b"), "draft": False, "score": 1.0},
        entities=("Alice",),
        triples=(Triple(subject="Alice", relation="KNOWS", object="Bob"),),
        vector=vector,
    )


def build(
    data: Path, generation: str, chunks: Iterable[Chunk], builders: Sequence[IndexBuilder] = ALL
) -> BuiltGeneration:
    return build_generation(data, NAME, generation, chunks, builders, CountingEmbedder())


def everything(data: Path) -> list[str]:
    return sorted(str(path.relative_to(data)) for path in data.rglob("*") if path.name != ".lock")


async def test_a_generation_holds_texts_and_every_index(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    chunks = [chunk(f"c{number:03}") for number in range(150)]
    built = build_generation(
        tmp_path, NAME, "g1", iter(chunks), ALL, CountingEmbedder(), lambda part, done: told.append((part, done))
    )
    assert built == BuiltGeneration("g1", 150, dict.fromkeys(Kind, 150), blank=0, relations=150)
    assert {part for part, _ in told} == {"texts", "vector", "keyword", "graph"}
    assert max(done for _, done in told) == 150
    card = CorpusCard(tenant="acme", corpus="docs", generation="g1")
    for kind in Kind:
        engine = await engines_in(tmp_path)(card, Wiring(kind=kind, backend="main", pool="main"))
        asked = SearchRequest("acme", "docs", "alpha", 5, 5.0, vector=(1.0, 0.5, 0.5), seeds=("alice",))
        assert [hit.chunk_id for hit in (await engine.search(asked)).hits] == ["c000", "c001", "c002", "c003", "c004"]
        await engine.close()
    texts = await texts_in(tmp_path)(card)
    assert {found.chunk_id: found.source for found in await texts.get(["c007", "c008", "gone"])} == {
        "c007": "c007.md",
        "c008": "c008.md",
    }
    assert len(await texts.get([f"c{number:03}" for number in range(2_000)])) == 150
    await texts.close()


def test_chunks_are_read_back_whole_and_in_order(tmp_path: Path) -> None:
    chunks = [chunk(f"c{number}", vector=(0.5, 0.25, float(number))) for number in range(30)]
    build(tmp_path, "g1", random.Random(1).sample(chunks, 30))
    assert list(read_chunks(tmp_path, NAME, "g1")) == sorted(chunks, key=lambda chunk: chunk.chunk_id)


async def test_building_again_without_a_chunk_embeds_nothing(tmp_path: Path) -> None:
    """A deleted chunk is returned by nothing, and the rest keep their vectors."""
    build(tmp_path, "g1", [chunk("keep"), chunk("drop")])
    left = (chunk for chunk in read_chunks(tmp_path, NAME, "g1") if chunk.chunk_id != "drop")
    embedder = CountingEmbedder()
    built = build_generation(tmp_path, NAME, "g2", left, ALL, embedder)
    assert (built.chunks, embedder.seen) == (1, [])
    assert open_texts(tmp_path, NAME, "g2").get(["keep", "drop"])[0].chunk_id == "keep"
    for builder in ALL:
        engine: SearchEngine = await builder.open(generation_folder(tmp_path, NAME, builder.kind.value, "g2"))
        condition = Leaf(field="tags", op=Op.CONTAINS, value="b")
        asked = SearchRequest("acme", "docs", "alpha", 5, 5.0, vector=(1, 0, 0), seeds=("bob",), filter=condition)
        assert [hit.chunk_id for hit in (await engine.search(asked)).hits] == ["keep"]
        await engine.close()


def test_only_chunks_without_a_vector_are_embedded_with_their_title(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    build_generation(tmp_path, NAME, "g1", [chunk("a"), chunk("b", vector=(1.0, 0.0, 0.0))], ALL, embedder)
    assert embedder.seen == ["Title a alpha beta"]
    keyword = [index_builder(Kind.KEYWORD)]
    build_generation(tmp_path, NAME, "g2", [chunk("c")], keyword, embedder)
    assert embedder.seen == ["Title a alpha beta"]


def test_blank_chunks_are_left_out_and_counted(tmp_path: Path) -> None:
    """ING-04."""
    built = build(tmp_path, "g1", [chunk("a"), chunk("b", " \n\t"), chunk("c", "\u3000")])
    assert (built.chunks, built.blank) == (1, 2)


class Broken:
    kind = Kind.GRAPH
    operators = frozenset(Op)

    def build(self, directory: Path, tenant: str, corpus: str, chunks: Iterable[Chunk]) -> int:
        (directory / "half").write_text("written")
        return sum(1 for _ in chunks) - 1

    async def open(self, directory: Path) -> SearchEngine:
        pytest.fail("a generation that failed is never opened")


class Killed(BaseException):
    pass


def failing() -> Iterable[Chunk]:
    yield chunk("new")
    raise Killed


@pytest.mark.parametrize(
    ("chunks", "builders", "error"),
    [
        ([chunk("a"), chunk("a")], ALL, DuplicateChunkError),
        ([chunk("a", vector=(1.0, 2.0)), chunk("b")], ALL, GenerationError),
        ([chunk("a"), chunk("b")], [*ALL[:2], Broken()], GenerationError),
        (failing(), ALL, Killed),
    ],
)
def test_a_run_that_fails_changes_nothing(
    tmp_path: Path, chunks: Iterable[Chunk], builders: list[IndexBuilder], error: type[BaseException]
) -> None:
    build(tmp_path, "g1", [chunk("live")])
    before = everything(tmp_path)
    with pytest.raises(error):
        build(tmp_path, "g2", chunks, builders)
    assert everything(tmp_path) == before
    assert [chunk.chunk_id for chunk in read_chunks(tmp_path, NAME, "g1")] == ["live"]


def test_a_generation_is_never_built_twice(tmp_path: Path) -> None:
    build(tmp_path, "g1", [chunk("live")])
    before = everything(tmp_path)
    with pytest.raises(GenerationError, match="g1"):
        build(tmp_path, "g1", [chunk("other")])
    assert everything(tmp_path) == before


def test_one_index_run_at_a_time(tmp_path: Path) -> None:
    def during() -> Iterable[Chunk]:
        with pytest.raises(GenerationError, match="acme/docs"):
            build(tmp_path, "g2", [chunk("b")])
        with pytest.raises(GenerationError, match="acme/docs"):
            remove_unused(tmp_path, NAME, keep=())
        build_generation(tmp_path, CorpusName("acme", "other"), "g2", [chunk("b")], ALL, CountingEmbedder())
        yield chunk("a")

    assert build(tmp_path, "g1", during()).chunks == 1


async def test_unused_generations_go_and_open_ones_still_answer(tmp_path: Path) -> None:
    for generation in ("g1", "g2", "g3"):
        build(tmp_path, generation, [chunk("a")])
    (tmp_path / "acme" / "docs" / "texts" / ".building-g0").mkdir()
    engines = [await b.open(generation_folder(tmp_path, NAME, b.kind.value, "g1")) for b in ALL]
    assert remove_unused(tmp_path, NAME, keep={"g3"}) == ("g0", "g1", "g2")
    assert {path.name for path in (tmp_path / "acme" / "docs").glob("*/*")} == {"g3"}
    asked = SearchRequest("acme", "docs", "alpha", 5, 5.0, vector=(1.0, 0.5, 0.5), seeds=("alice",))
    for engine in engines:
        assert [hit.chunk_id for hit in (await engine.search(asked)).hits] == ["a"]
        await engine.close()
    with pytest.raises(SearchError) as error:
        open_texts(tmp_path, NAME, "g1")
    assert error.value.kind is FailureKind.NOT_FOUND


def test_generation_ids_sort_by_time() -> None:
    start = datetime(2026, 11, 30, 23, 59, 59, 999_999, tzinfo=UTC)
    zone = timezone(timedelta(hours=5, minutes=30))
    moments = [start + timedelta(microseconds=step) for step in (0, 1, 2_000_000)]
    ids = [generation_id(moment.astimezone(zone), "3f9a") for moment in moments]
    assert ids == sorted(ids)
    assert ids[0] == "20261130t235959999999z-3f9a"


@pytest.mark.parametrize("name", [CorpusName("..", "docs"), CorpusName("acme", "a/b"), CorpusName("", "docs")])
def test_names_never_leave_the_data_folder(tmp_path: Path, name: CorpusName) -> None:
    with pytest.raises(ValueError, match="not valid"):
        build_generation(tmp_path, name, "g1", [chunk("a")], ALL)
    assert everything(tmp_path) == []
