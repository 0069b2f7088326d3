"""How both keyword clients write: bounded batches, only what failed is sent again, and no index of anyone else."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fanfuse_backend_workers.adapters import elasticsearch, opensearch
from fanfuse_backend_workers.adapters.lucene_documents import MAX_BATCH_BYTES
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind
from tests.servers.opensearch_errors import BUSY, KEY, PERMANENT, SECRET_TEXT, refusal, searched
from tests.servers.opensearch_scripted import Answer, Asked, ScriptedServer

Connect = Callable[[ServerSettings], ServerBackend]
WRITTEN: dict[str, Any] = {"status": 201}


@pytest.fixture(params=[elasticsearch.connect, opensearch.connect], ids=["elasticsearch", "opensearch"])
def connect(request: pytest.FixtureRequest) -> Connect:
    chosen: Connect = request.param
    return chosen


def chunks(count: int, text: str = "apollo") -> list[Chunk]:
    return [Chunk(chunk_id=f"c{number}", text=text, content_hash="0") for number in range(count)]


def ids(asked: Asked) -> list[str]:
    """Chunk ids of a batch."""
    return [line["chunk_id"] for line in lines(asked) if "chunk_id" in line]


def lines(asked: Asked) -> list[dict[str, Any]]:
    """Actions and documents of a batch."""
    return [json.loads(line) for line in asked.body.splitlines()]


def refused(status: int, name: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "error": {"type": name, "reason": f"failed to parse: {SECRET_TEXT}", **more}}


def replies(*batches: Callable[[int], dict[str, Any]]) -> Callable[[Asked], Answer]:
    """What becomes of each place of the first batch, of the second …; the last one for ever."""
    left = list(batches)

    def answer(asked: Asked) -> Answer:
        said = left.pop(0) if len(left) > 1 else left[0]
        count = len(ids(asked)) or len(lines(asked))
        action = next(iter(lines(asked)[0]))
        return Answer(body={"errors": True, "items": [{action: said(place)} for place in range(count)]})

    return searched(answer)


@asynccontextmanager
async def writing(connect: Connect, answer: Callable[[Asked], Answer]) -> AsyncIterator[tuple[ServerBackend, Any]]:
    async with ScriptedServer(answer) as server:
        backend = connect(ServerSettings(url=server.url))
        yield backend, lambda: server.asked_for("/_bulk")
        await backend.close()


async def test_only_what_the_server_was_too_busy_for_is_sent_again(connect: Connect) -> None:
    busy = refused(429, "es_rejected_execution_exception")
    first = lambda place: busy if place % 2 else WRITTEN  # noqa: E731 - a table of one row
    async with writing(connect, replies(first, lambda place: busy if place == 0 else WRITTEN, lambda _: WRITTEN)) as (
        backend,
        bulks,
    ):
        await backend.upsert(KEY, chunks(6))
        assert [ids(one) for one in bulks()] == [[f"c{n}" for n in range(6)], ["c1", "c3", "c5"], ["c1"]]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (refused(400, "mapper_parsing_exception"), FailureKind.BAD_REQUEST),
        (refused(413, "content_too_long_exception"), FailureKind.TOO_LARGE),
        (refused(404, "index_not_found_exception"), FailureKind.NOT_FOUND),
        (refused(429, "circuit_breaking_exception", durability="PERMANENT"), FailureKind.OVERLOADED),
    ],
    ids=["unfit", "too_large", "missing", "permanent"],
)
async def test_a_chunk_that_is_refused_is_named_without_its_text(
    connect: Connect, said: dict[str, Any], kind: FailureKind
) -> None:
    async with writing(connect, replies(lambda place: said if place == 2 else WRITTEN)) as (backend, bulks):
        with pytest.raises(SearchError, match="'c2'") as failed:
            await backend.upsert(KEY, chunks(4, "the text"))
        assert len(bulks()) == 1
    assert failed.value.kind is kind
    assert said["error"]["type"] in failed.value.message
    assert SECRET_TEXT not in failed.value.message
    assert "the text" not in failed.value.message


async def test_a_whole_batch_waits_out_a_busy_server_but_no_permanent_breaker(connect: Connect) -> None:
    answers = [BUSY, refusal(503, "unavailable_shards_exception"), Answer(0), refusal(502, "bad_gateway")]

    def answer(asked: Asked) -> Answer:
        return answers.pop(0) if answers else replies(lambda _: WRITTEN)(asked)

    async with writing(connect, searched(answer)) as (backend, bulks):
        await backend.upsert(KEY, chunks(3))
        assert [ids(one) for one in bulks()] == [["c0", "c1", "c2"]] * 5
    async with writing(connect, searched(lambda _: PERMANENT)) as (backend, bulks):
        with pytest.raises(SearchError) as failed:
            await backend.upsert(KEY, chunks(3))
        assert (failed.value.kind, len(bulks())) == (FailureKind.OVERLOADED, 1)


async def test_batches_are_at_most_one_megabyte(connect: Connect) -> None:
    """Twelve chunks of 200 kB in lots, in their order; one of 1.2 MB goes alone."""
    large = [*chunks(12, "x" * 200_000), Chunk(chunk_id="huge", text="x" * 1_200_000, content_hash="0")]
    async with writing(connect, replies(lambda _: WRITTEN)) as (backend, bulks):
        await backend.upsert(KEY, large)
        sent = bulks()
    assert [ids(one) for one in sent] == [[f"c{n}" for n in range(at, at + 4)] for at in (0, 4, 8)] + [["huge"]]
    assert all(len(one.body) <= MAX_BATCH_BYTES for one in sent[:-1])


async def test_deleting_counts_what_was_there(connect: Connect) -> None:
    there = lambda place: {"status": 200} if place < 2 else {"status": 404}  # noqa: E731
    async with writing(connect, replies(there)) as (backend, bulks):
        assert await backend.delete(KEY, ["a", "b", "none"]) == 2
        assert [set(line) for line in lines(bulks()[0])] == [{"delete"}] * 3


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**63, FailureKind.BAD_REQUEST),
        (-(2**63) - 1, FailureKind.BAD_REQUEST),
        (float("nan"), FailureKind.BAD_REQUEST),
        ("x" * 32_767, FailureKind.TOO_LARGE),
        (("a", "文" * 11_000), FailureKind.TOO_LARGE),
    ],
    ids=["2^63", "-2^63-1", "nan", "string", "member"],
)
async def test_metadata_that_no_server_can_hold_is_refused_by_name(
    connect: Connect, value: Any, kind: FailureKind
) -> None:
    """ING-04: a keyword over 32,766 bytes never reaches the server."""
    unfit = Chunk.model_construct(**{**dict(chunks(1)[0]), "metadata": {"mixed": value}})
    async with writing(connect, replies(lambda _: WRITTEN)) as (backend, bulks):
        with pytest.raises(SearchError, match=r"'mixed' of chunk 'c0'") as failed:
            await backend.upsert(KEY, [unfit])
        assert bulks() == []
    assert failed.value.kind is kind


def _foreign() -> Iterator[dict[str, Any]]:
    yield {}
    yield {"_meta": {"owner": "someone"}, "properties": {"text": {"type": "text"}}}
    yield {"_meta": {"fanfuse": {"format": 1, "tenant": "globex", "corpus": "docs", "generation": "g1", "fields": []}}}
    yield {"_meta": {"fanfuse": {"format": 2, "tenant": "acme", "corpus": "docs", "generation": "g1", "fields": []}}}


async def test_an_index_of_someone_else_is_left_alone(connect: Connect) -> None:
    """Neither written to nor deleted nor searched."""
    for found in _foreign():
        answer = Answer(body={"fanfuse.acme.docs.g1": {"mappings": found}})
        async with ScriptedServer(lambda _, answer=answer: answer) as server:  # type: ignore[misc]
            backend = connect(ServerSettings(url=server.url))
            for call in (backend.upsert(KEY, chunks(1)), backend.delete(KEY), backend.delete(KEY, ["c0"])):
                with pytest.raises(SearchError) as refused_:
                    await call
                assert refused_.value.kind is FailureKind.CONFIG
            await backend.close()
        assert {asked.method for asked in server.asked} == {"GET"}
