"""A generation on a server: whole batches within their bounds, tried again, gone on with, counted at the end."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_backend_workers import server_writing
from fanfuse_backend_workers.domain.batches import Acknowledged, Batch, batches, size_of
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.server_writing import Contents, write_generation
from fanfuse_backend_workers.servers import IndexKey, IndexShape
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind, Kind
from tests.unit.backend_workers.server_fake import FakeServer

KEY = IndexKey("acme", "docs", "g1")


def chunk(number: int, size: int = 10) -> Chunk:
    return Chunk(chunk_id=f"c{number:05}", text="x" * size, content_hash="0", vector=(1.0, 0.0))


def contents(number: int) -> Contents:
    chunks = [chunk(at) for at in range(number)]

    def chunks_from(skip: int) -> Iterable[Chunk]:
        return iter(chunks[skip:])

    return Contents(KEY, IndexShape(fields={}), number, chunks_from)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_writing, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(server_writing, "_LONGEST_PAUSE_S", 0.002)


@given(st.lists(st.integers(1, 400), max_size=60), st.integers(0, 9), st.integers(1, 7), st.integers(1, 3_000))
def test_batches_hold_everything_in_order_within_both_bounds(
    sizes: list[int], start: int, most: int, max_bytes: int
) -> None:
    chunks = [chunk(number, size) for number, size in enumerate(sizes)]
    cut = list(batches(chunks, start, most, max_bytes))

    assert [one for batch in cut for one in batch.chunks] == chunks
    at = start
    for batch in cut:
        assert batch.start == at
        assert 1 <= len(batch.chunks) <= most
        assert len(batch.chunks) == 1 or sum(map(size_of, batch.chunks)) <= max_bytes
        at += len(batch.chunks)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_what_is_acknowledged_has_no_gap(lengths: list[int], chance: random.Random) -> None:
    starts = [3 + sum(lengths[:at]) for at in range(len(lengths))]
    parts = [Batch(start, (chunk(0),) * length) for start, length in zip(starts, lengths, strict=True)]
    order = chance.sample(parts, len(parts))
    counted = Acknowledged(3)
    seen: set[int] = set()
    for batch in order:
        done = counted.take_in(batch)
        seen |= set(range(batch.start, batch.start + len(batch.chunks)))
        assert set(range(3, done)) <= seen
        assert done not in seen
    assert counted.done == 3 + sum(lengths)


async def test_everything_is_written_found_and_told() -> None:
    server, told = FakeServer(), list[int]()
    await write_generation(server, contents(1_234), 0, told.append)

    assert len(server.indexes[KEY]) == 1_234
    assert (told[0], told[-1]) == (0, 1_234)
    assert server.calls["upsert"] == 3
    assert server.calls["publish"] == 0
    assert all(one.vector is None for one in server.indexes[KEY].values()), "nothing searches them there"


async def test_a_vector_server_gets_the_vectors() -> None:
    server = FakeServer(Kind.VECTOR)
    await write_generation(server, contents(3), 0, lambda _done: None)
    assert {one.vector for one in server.indexes[KEY].values()} == {(1.0, 0.0)}


async def test_a_server_that_is_away_or_busy_for_a_while_is_tried_again() -> None:
    server = FakeServer()
    for name in ("ensure", "upsert", "refresh", "count"):
        server.failures[name] = [
            SearchError(kind, "not now")
            for kind in (FailureKind.UNAVAILABLE, FailureKind.OVERLOADED, FailureKind.TIMEOUT)
        ]
    await write_generation(server, contents(10), 0, lambda _done: None, retry_for_s=30.0)
    assert len(server.indexes[KEY]) == 10


@pytest.mark.parametrize("kind", [FailureKind.UNAVAILABLE, FailureKind.BAD_REQUEST, FailureKind.TOO_LARGE])
async def test_what_lasts_or_can_not_get_better_ends_the_run_typed(kind: FailureKind) -> None:
    server, told = FakeServer(), list[int]()
    server.failures["upsert"] = [SearchError(kind, "no")] * 1_000
    with pytest.raises(SearchError) as failed:
        await write_generation(server, contents(5), 0, told.append, retry_for_s=0.02)
    assert failed.value.kind is kind
    assert told == [0]
    assert server.calls["upsert"] == 1 or kind is FailureKind.UNAVAILABLE


async def test_a_run_goes_on_after_what_was_acknowledged() -> None:
    server, told = FakeServer(), list[int]()
    await write_generation(server, contents(600), 0, told.append)
    del server.indexes[KEY]["c00599"]
    before = server.calls["upsert"]
    await write_generation(server, contents(600), 500, told.append)
    assert len(server.indexes[KEY]) == 600
    assert server.calls["upsert"] == before + 1


async def test_what_the_server_lost_since_is_written_again() -> None:
    server, told = FakeServer(), list[int]()
    await write_generation(server, contents(600), 500, told.append)
    assert told[0] == 0
    assert len(server.indexes[KEY]) == 600


async def test_a_wrong_count_ends_the_run_and_nothing_counts_as_done() -> None:
    server, told = FakeServer(loses=2), list[int]()
    with pytest.raises(SearchError, match="holds 8 chunks of 10") as failed:
        await write_generation(server, contents(10), 0, told.append)
    assert failed.value.kind is FailureKind.CONFIG
    assert told[-1] == 0
