"""Corpora on engine servers, from `index` to the answer: what is written, switched, gone on with and deleted.

Vectors: Qdrant's official client and Qdrant's own engine behind a socket. Keywords: the official Elasticsearch client
and a stand-in that scores by the same BM25. The graph is embedded, so every run mixes both kinds of engine.
"""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fanfuse_all_in_one.failures import OperatorError, UnknownCorpusError
from fanfuse_all_in_one.indexing import DEFAULT_EMBEDDER, Wish, index_corpus
from fanfuse_all_in_one.seeding import seed_corpora
from fanfuse_all_in_one.unfinished import one_run_at_a_time
from fanfuse_backend_workers.generations import CorpusName
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import Kind, LaneOutcome, Status
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_testing.flow import Flow, sample_chunk
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library
from tests.flow.server_flow import backends_of, serving, write_config
from tests.servers.noida import NoidaServer
from tests.servers.qdrant import Fault, QdrantShim

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
PARTS = ("vector/main", "keyword/main")


@pytest.fixture(scope="module")
def qdrant(servers: tuple[QdrantShim, NoidaServer]) -> QdrantShim:
    return servers[0]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def flow(
    tmp_path_factory: pytest.TempPathFactory, servers: tuple[QdrantShim, NoidaServer]
) -> AsyncIterator[Flow]:
    folder = tmp_path_factory.mktemp("servers")
    async with serving(folder, write_config(folder, backends_of(*servers))) as running:
        yield running


async def ask(flow: Flow, corpus: str, text: str = QUESTION, tenant: str = TENANT, **more: Any) -> Answer:
    async with flow.client(tenant) as client:
        return await client.ask(text, corpora=(corpus,), **more)


def outcomes(answer: Answer) -> dict[Kind, LaneOutcome]:
    return {lane.kind: lane.outcome for lane in answer.coverage.lanes}


def ids(answer: Answer) -> set[str]:
    return {hit.chunk_id for hit in answer.hits}


async def held(flow: Flow, corpus: str, tenant: str = TENANT) -> dict[str, tuple[str, ...]]:
    """Generations by server."""
    return {str(server.key): await server.client.generations(tenant, corpus) for server in flow.operator.servers.all()}


async def test_a_corpus_is_indexed_on_its_servers_and_found_by_all_kinds(flow: Flow) -> None:
    told: defaultdict[str, int] = defaultdict(int)
    wish = Wish(TENANT, "docs")
    indexed = await index_corpus(
        flow.operator, flow.data_dir, wish, library(), lambda: FIELDS, lambda part, done: told.update({part: done})
    )
    answer = await ask(flow, "docs", graph_seeds=SEEDS)

    assert (indexed.card.chunks, answer.status) == (8, Status.COMPLETE), answer.coverage
    assert outcomes(answer) == dict.fromkeys(Kind, LaneOutcome.ANSWERED)
    assert {part.kind for hit in answer.hits for part in hit.contributions} == set(Kind)
    assert all(hit.text for hit in answer.hits)
    assert await held(flow, "docs") == dict.fromkeys(PARTS, (indexed.card.generation,))
    assert told == dict.fromkeys(("texts", "graph", *PARTS), 8)
    folders = {path.name for path in (flow.data_dir / TENANT / "docs").iterdir() if path.is_dir()}
    assert folders == {"texts", "graph"}, "what a server holds is not built here too"


async def test_a_filter_is_the_servers_own(flow: Flow) -> None:
    await flow.index(TENANT, "filtered", library(), FIELDS)
    asked = Leaf(field="topic", op=Op.EQ, value="network")
    answer = await ask(flow, "filtered", filter=asked)

    assert answer.status is Status.COMPLETE, answer.coverage
    assert ids(answer) == {"asyncio", "socket"}
    assert {lane.kind for lane in answer.coverage.lanes} >= {Kind.VECTOR, Kind.KEYWORD}


async def test_a_new_run_takes_the_place_of_the_old_one_on_every_server(flow: Flow) -> None:
    first = await flow.index(TENANT, "changing", library("dirigible"), FIELDS)
    assert ids(await ask(flow, "changing", "dirigible"))
    second = await flow.index(TENANT, "changing", library("blimp", only=("csv", "json")), FIELDS)
    answer = await ask(flow, "changing", "dirigible")

    assert second.removed == (first.card.generation,)
    assert await held(flow, "changing") == dict.fromkeys(PARTS, (second.card.generation,))
    assert ids(answer) <= {"csv", "json"}
    assert all("dirigible" not in str(hit.text) for hit in answer.hits)


async def test_a_deleted_chunk_is_on_no_server(flow: Flow) -> None:
    await flow.index(TENANT, "pruned", library(), FIELDS)
    deleted = await flow.delete(TENANT, "pruned", ["csv"])

    assert (deleted.chunks, deleted.left) == (1, 7)
    assert "csv" not in ids(await ask(flow, "pruned", "csv spreadsheet", graph_seeds=("csv",)))
    for server in flow.operator.servers.all():
        card = (await flow.operator.card(TENANT, "pruned")).card
        assert card is not None
        assert await server.client.texts(card, ["csv"]) == []
    assert {len(found) for found in (await held(flow, "pruned")).values()} == {1}


async def test_a_deleted_corpus_is_on_no_server_and_others_stay(flow: Flow) -> None:
    await flow.index(TENANT, "gone", library(), FIELDS)
    await flow.index("umbrella", "gone", library(), FIELDS)
    assert (await flow.delete(TENANT, "gone", None)).left is None

    assert await held(flow, "gone") == dict.fromkeys(PARTS, ())
    assert {len(found) for found in (await held(flow, "gone", "umbrella")).values()} == {1}
    assert (await ask(flow, "gone", tenant="umbrella")).status is Status.COMPLETE
    with pytest.raises(UnknownCorpusError):
        await flow.delete(TENANT, "gone", None)


async def test_a_deletion_that_broke_off_is_completed_by_the_same_command(flow: Flow, qdrant: QdrantShim) -> None:
    """The registry forgets the corpus first, so that nobody finds it; a server that fails then is told of."""
    await flow.index(TENANT, "left", library(), FIELDS)
    qdrant.fault = Fault(status=400, calls=None, path="/points/delete")
    try:
        with pytest.raises(OperatorError, match=r"vector/main did not follow.*run the same command again"):
            await flow.delete(TENANT, "left", None)
    finally:
        qdrant.fault = None
    assert len((await held(flow, "left"))["vector/main"]) == 1
    assert (await flow.delete(TENANT, "left", None)).left is None
    assert await held(flow, "left") == dict.fromkeys(PARTS, ())


def many(number: int, marker: str) -> list[Chunk]:
    """Chunks that bring their vectors."""

    def vector(at: int) -> tuple[float, ...]:
        return tuple(1.0 if place == at % DEFAULT_EMBEDDER.dimensions else 0.0 for place in range(384))

    return [sample_chunk(f"c{at:04}", f"{marker} text {at}", vector=vector(at)) for at in range(number)]


async def run(flow: Flow, corpus: str, chunks: list[Chunk], told: Any = lambda part, done: None) -> Any:
    return await index_corpus(flow.operator, flow.data_dir, Wish(TENANT, corpus), chunks, dict, told)


async def test_a_run_that_broke_off_goes_on_where_it_was_and_changes_nothing_before(
    flow: Flow, qdrant: QdrantShim
) -> None:
    live = await run(flow, "large", many(3, "dirigible"))

    def break_after_the_first_batch(part: str, done: int) -> None:
        if part == "vector/main" and done >= 500:
            qdrant.fault = Fault(status=400, calls=None, path="/points")

    chunks = many(2_600, "zeppelin")
    with pytest.raises(OperatorError) as broken:
        await run(flow, "large", chunks, break_after_the_first_batch)
    qdrant.fault = None
    record = json.loads((flow.data_dir / TENANT / "large" / "unfinished.json").read_bytes())
    (acknowledged,) = record["done"].values()

    assert f"it goes on after {acknowledged} of 2600 chunks" in str(broken.value)
    assert 500 <= acknowledged < 2_600
    assert ids(await ask(flow, "large", "dirigible zeppelin")) == {"c0000", "c0001", "c0002"}
    assert (await flow.operator.card(TENANT, "large")).card == live.card
    texts = {path.name for path in (flow.data_dir / TENANT / "large" / "texts").iterdir()}
    assert texts == {live.card.generation}

    told: list[int] = []
    seen = len(qdrant.seen)
    done = await run(flow, "large", chunks[::-1], lambda part, at: told.append(at) if part == "vector/main" else None)
    written = [r for r in qdrant.seen[seen:] if (r.method, r.path[-7:]) == ("PUT", "/points")]

    assert done.card.generation == record["generation"], "the earlier run's generation was finished"
    assert (told[0], told[-1]) == (acknowledged, 2_600)
    # One point more notes the generation itself.
    assert sum(len(json.loads(r.body)["points"]) for r in written) <= 2_600 - acknowledged + 1
    assert await held(flow, "large") == dict.fromkeys(PARTS, (done.card.generation,))
    assert not (flow.data_dir / TENANT / "large" / "unfinished.json").exists()
    await flow.delete(TENANT, "large", None)


async def test_other_contents_are_written_whole_and_what_broke_off_is_removed(flow: Flow, qdrant: QdrantShim) -> None:
    def break_at_once(part: str, _done: int) -> None:
        if part == "vector/main":
            qdrant.fault = Fault(status=400, calls=None, path="/points")

    with pytest.raises(OperatorError, match="it goes on after 0 of 4 chunks"):
        await run(flow, "edited", many(4, "one"), break_at_once)
    qdrant.fault = None
    broken = json.loads((flow.data_dir / TENANT / "edited" / "unfinished.json").read_bytes())["generation"]
    done = await run(flow, "edited", many(4, "two"))

    assert done.card.generation != broken
    assert await held(flow, "edited") == dict.fromkeys(PARTS, (done.card.generation,))


async def test_a_server_that_is_away_is_told_of_before_any_work(flow: Flow, qdrant: QdrantShim) -> None:
    read: list[Chunk] = []

    def source() -> Iterator[Chunk]:
        for chunk in library():
            read.append(chunk)
            yield chunk

    qdrant.fault = Fault(cut=True, calls=None)
    try:
        with pytest.raises(OperatorError, match=r"not usable now: vector/main .*nothing was changed"):
            await flow.index(TENANT, "docs", source(), FIELDS)
        with pytest.raises(OperatorError, match="not usable now"):
            await flow.delete(TENANT, "docs", None)
    finally:
        qdrant.fault = None
    assert read == []
    assert (await ask(flow, "docs")).status is Status.COMPLETE


async def test_one_command_at_a_time_changes_a_corpus_on_servers(flow: Flow) -> None:
    """The second would remove what the first has not switched to yet."""
    await flow.index(TENANT, "busy", library(), FIELDS)
    refused: list[str] = []

    async def during() -> None:
        for other in (flow.index(TENANT, "busy", library(), FIELDS), flow.delete(TENANT, "busy", ["csv"])):
            with pytest.raises(OperatorError, match="another command changes acme/busy") as told:
                await other
            refused.append(str(told.value))
        with pytest.raises(OperatorError, match="another command changes acme/busy"):
            await flow.delete(TENANT, "busy", None)

    with one_run_at_a_time(flow.data_dir, CorpusName(TENANT, "busy")):
        await during()
    assert len(refused) == 2
    assert (await ask(flow, "busy")).status is Status.COMPLETE
    await flow.index(TENANT, "busy", library(), FIELDS)
    assert {len(found) for found in (await held(flow, "busy")).values()} == {1}


async def test_the_last_chunk_can_be_deleted(flow: Flow) -> None:
    await flow.index(TENANT, "last", library(only=("csv",)), FIELDS)
    assert (await flow.delete(TENANT, "last", ["csv"])).left == 0

    answer = await ask(flow, "last")
    assert (answer.hits, answer.status) == ((), Status.COMPLETE), answer.coverage
    assert {len(found) for found in (await held(flow, "last")).values()} == {1}


async def test_workers_without_the_texts_get_them_from_a_server(
    tmp_path: Path, servers: tuple[QdrantShim, NoidaServer]
) -> None:
    """A corpus of the file, on servers only: workers on other machines need no data directory of the indexer."""
    corpora = [{"id": "remote", "tenant_id": TENANT, "backends": list(PARTS)}]
    file = write_config(tmp_path, backends_of(*servers), corpora=corpora)
    async with serving(tmp_path, file, elsewhere=tmp_path / "empty") as flow:
        await seed_corpora(flow.operator, flow.operator.config)
        await flow.index(TENANT, "remote", library(), FIELDS)
        answer = await ask(flow, "remote")

        assert answer.status is Status.COMPLETE, answer.coverage
        assert {chunk.chunk_id: chunk.text for chunk in library()}.items() >= {
            (hit.chunk_id, hit.text) for hit in answer.hits
        }
        assert not (tmp_path / "empty" / TENANT).exists()
        assert {path.name for path in (flow.data_dir / TENANT / "remote").iterdir() if path.is_dir()} == {"texts"}
        await flow.delete(TENANT, "remote", None)
