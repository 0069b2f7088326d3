"""The vector engine: sizes, directions, ids, and scores that are numbers."""

import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fanfuse_backend_workers.adapters.qdrant_vector import (
    QdrantIndexBuilder,
    QdrantVectorEngine,
    point_id,
)
from fanfuse_backend_workers.adapters.ranking import Scored, best_hits
from fanfuse_backend_workers.ports import EngineHit, InvalidChunkError, SearchError, SearchRequest
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind

NAN, INF = math.nan, math.inf


def chunk(name: str, *vector: float) -> Chunk:
    return Chunk.model_construct(
        chunk_id=name, text="t", title="", content_hash="0", metadata={}, vector=vector or None
    )


def asked(*vector: float) -> SearchRequest:
    return SearchRequest("acme", "docs", "", window=10, timeout_s=5.0, vector=vector)


async def opened(folder: Path, *chunks: Chunk) -> QdrantVectorEngine:
    builder = QdrantIndexBuilder()
    builder.build(folder, "acme", "docs", chunks)
    engine = await builder.open(folder)
    assert isinstance(engine, QdrantVectorEngine)
    return engine


async def test_a_vector_of_another_size_is_a_config_error_that_names_both(tmp_path: Path) -> None:
    """QDR-01: at query time and, before any query, by asking."""
    engine = await opened(tmp_path, chunk("c1", *[1.0] * 768))
    for refused in (lambda: engine.check_dimensions(1536),):
        with pytest.raises(SearchError, match=r"acme/docs.*768.*1536") as error:
            refused()
        assert error.value.kind is FailureKind.CONFIG
    with pytest.raises(SearchError, match=r"768.*1536") as error:
        await engine.search(asked(*[1.0] * 1536))
    assert error.value.kind is FailureKind.CONFIG
    engine.check_dimensions(768)
    assert await engine.count() == 1
    await engine.close()


@pytest.mark.parametrize("vector", [(), None])
async def test_no_vector_is_the_embedders_failure(tmp_path: Path, vector: tuple[float, ...] | None) -> None:
    """QDR-01: an empty embedding never becomes dimension 0."""
    engine = await opened(tmp_path, chunk("c1", 1.0, 0.0))
    with pytest.raises(SearchError) as error:
        await engine.search(SearchRequest("acme", "docs", "", window=10, timeout_s=5.0, vector=vector))
    assert error.value.kind is FailureKind.EMBEDDER
    await engine.close()


@pytest.mark.parametrize("vector", [(0.0, 0.0), (NAN, 1.0), (INF, 1.0), (-INF, 0.0)])
async def test_a_query_vector_without_direction_is_refused(tmp_path: Path, vector: tuple[float, ...]) -> None:
    """QDR-05."""
    engine = await opened(tmp_path, chunk("c1", 1.0, 0.0))
    with pytest.raises(SearchError) as error:
        await engine.search(asked(*vector))
    assert error.value.kind is FailureKind.BAD_REQUEST
    await engine.close()


@pytest.mark.parametrize("vector", [(1e308, 1e307), (1e-30, 1e-31), (3.0, 0.3)])
async def test_only_the_direction_of_a_vector_counts(tmp_path: Path, vector: tuple[float, ...]) -> None:
    engine = await opened(tmp_path, chunk("near", 1e-25, 0.0), chunk("far", 0.0, 1e30))
    hits = (await engine.search(asked(*vector))).hits
    assert [hit.chunk_id for hit in hits] == ["near", "far"]
    assert hits[0].score == pytest.approx(0.995, abs=1e-3)
    await engine.close()


@pytest.mark.parametrize("vector", [(), (0.0, 0.0), (NAN, 1.0), (1.0, INF), (1.0,), (1.0, 2.0, 3.0)])
def test_a_chunk_vector_that_can_not_be_searched_is_refused_by_name(tmp_path: Path, vector: tuple[float, ...]) -> None:
    with pytest.raises(InvalidChunkError, match="bad"):
        QdrantIndexBuilder().build(tmp_path, "acme", "docs", [chunk("good", 1.0, 0.0), chunk("bad", *vector)])


def test_scores_that_are_no_numbers_are_dropped_and_counted() -> None:
    """QDR-05, FUS-02: so are hits without a chunk id; "0" is an id like any other."""
    listed = [(NAN, "nan"), (INF, "inf"), (None, "null"), (0.9, ""), (0.5, "b"), (0.5, "0"), (0.5, "c")]

    def read(found: Sequence[Scored[str]]) -> list[EngineHit]:
        return [EngineHit(name, score or 0.0, "") for score, name in found]

    result = best_hits(lambda limit: listed[:limit], read, window=3)
    assert [hit.chunk_id for hit in result.hits] == ["0", "b", "c"]
    assert result.dropped == 4


def test_point_ids_are_stable_and_never_shared() -> None:
    """QDR-02: UUIDv5 of tenant, corpus and chunk id."""
    assert point_id("acme", "docs", "7-2") == point_id("acme", "docs", "7-2")
    names = [("acme", "docs", "1"), ("globex", "docs", "1"), ("acme", "docs1", ""), ("acme", "other", "1")]
    assert len({point_id(*name) for name in names}) == len(names)
    assert point_id("acme", "docs", "7-2").version == 5


READER = """
import asyncio, sys
from pathlib import Path
from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder
from fanfuse_backend_workers.ports import SearchRequest
async def main():
    engine = await QdrantIndexBuilder().open(Path(sys.argv[1]))
    found = await engine.search(SearchRequest("acme", "docs", "", 10, 5.0, vector=(1.0, 0.0)))
    print([hit.chunk_id for hit in found.hits])
asyncio.run(main())
"""


async def test_another_process_reads_what_is_open_here(tmp_path: Path) -> None:
    """The shard has no log, so it has no lock: replicas need no copy."""
    engine = await opened(tmp_path, chunk("near", 1.0, 0.1), chunk("far", 0.0, 1.0))
    other = subprocess.run([sys.executable, "-c", READER, str(tmp_path)], capture_output=True, text=True, check=True)  # noqa: ASYNC221
    assert other.stdout.strip() == "['near', 'far']"
    assert (await engine.search(asked(1.0, 0.0))).hits[0].chunk_id == "near"
    await engine.close()


FULL = """
import resource, sys
from pathlib import Path
from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder
from fanfuse_backend_workers.ports import IndexWriteError
from fanfuse_contracts.chunks import Chunk
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
chunks = [Chunk(chunk_id="c1", text="t", content_hash="0", vector=(1.0,) * 768)] if sys.argv[2] == "chunks" else []
try:
    QdrantIndexBuilder().build(Path(sys.argv[1]), "acme", "docs", chunks)
except IndexWriteError as error:
    print(error)
"""


@pytest.mark.parametrize("content", ["chunks", "nothing"])
def test_a_disk_that_takes_nothing_is_told_by_the_engine_as_such(tmp_path: Path, content: str) -> None:
    """A limit on the size of a file fails its writes as a full disk does; what the engine raises then is no type of its
    own, so the adapter gives it one."""
    command = [sys.executable, "-c", FULL, str(tmp_path), content]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, bool(done.stdout.strip())) == (0, True), done.stderr


def broken() -> Iterator[Chunk]:
    yield chunk("c1", 1.0)
    raise Exception("the source broke")


def test_what_the_source_of_chunks_raises_is_not_taken_for_the_engine_s(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="the source broke") as raised:
        QdrantIndexBuilder().build(tmp_path, "acme", "docs", broken())
    assert type(raised.value) is Exception
