"""Real Neo4j servers: the hits of the embedded engine, isolation at every hop, nothing pasted, limits, bad days."""

import asyncio
import dataclasses
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path

import neo4j
import pytest
from pydantic import SecretStr

from fanfuse_backend_workers.adapters.kglite_index import KgliteIndexBuilder
from fanfuse_backend_workers.adapters.neo4j import connect
from fanfuse_backend_workers.adapters.neo4j_calls import Neo4jCalls
from fanfuse_backend_workers.adapters.neo4j_statements import Statements, lucene_phrase, lucene_query
from fanfuse_backend_workers.domain.graph_asks import COLUMNS, Ask, Find
from fanfuse_backend_workers.ports import SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk, Triple
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_testing.server_case import card_of, delete_all, write
from tests.servers.neo4j import NEO4J_5, NEO4J_2026, SHARED_RELEASES, label, neo4j_settings, own_neo4j
from tests.servers.neo4j_release import Neo4jRelease

KEY = IndexKey("acme", "docs", "g1")
ODD_NAMES = ("causes/effects", "pm-17", "Acme (UK)", 'ZX9 9" panel', "C++", "AND", "host:", "/a trial", "*", "it's \\")
INJECTIONS = (
    "KNOWS`]->(n) DETACH DELETE n //", "X`) RETURN 1 //", "1..5) MATCH (m", "10; DROP",
    "' OR 1=1 //", "$tenant", "e.name",
)  # fmt: skip


def chunk(name: str, *entities: str, triples: tuple[tuple[str, str, str], ...] = (), title: str = "") -> Chunk:
    relations = tuple(Triple(subject=subject, relation=name, object=target) for subject, name, target in triples)
    return Chunk(chunk_id=name, text="t", title=title, content_hash="0", entities=entities, triples=relations)


def asked(*seeds: str, text: str = "", tenant: str = "acme", timeout_s: float = 60.0) -> SearchRequest:
    return SearchRequest(tenant, "docs", text, 50, timeout_s, seeds=seeds)


@pytest.fixture(params=SHARED_RELEASES, ids=label)
def settings(request: pytest.FixtureRequest) -> ServerSettings:
    return neo4j_settings(request.param)


@pytest.fixture
async def backend(settings: ServerSettings) -> AsyncIterator[ServerBackend]:
    backend = connect(dataclasses.replace(settings, connections=8))
    yield backend
    await backend.close()
    for tenant in ("acme", "globex"):
        await delete_all(connect(settings), tenant)


def drawn_graph(seed: int) -> list[Chunk]:
    """Names and relations drawn at random, some of them hubs."""
    chance = random.Random(seed)
    names = [f"Name {number}" for number in range(40)]
    relations = ("DIRECTED_BY", "WRITTEN_BY", "BORN_IN", "PART_OF")

    def name() -> str:
        return names[min(int(chance.expovariate(0.1)), 39)]

    return [
        chunk(
            f"c{number:03}",
            *(name() for _ in range(chance.randrange(3))),
            triples=tuple((name(), chance.choice(relations), name()) for _ in range(chance.randrange(4))),
            title=name() if chance.random() < 0.3 else "",
        )
        for number in range(150)
    ]


@pytest.mark.engine
async def test_the_same_hits_in_the_same_order_as_embedded(tmp_path: Path, backend: ServerBackend) -> None:
    """Congruence: 60 searches over a drawn graph; seeds by name, by words, by place in the text."""
    chunks = drawn_graph(5)
    builder = KgliteIndexBuilder()
    assert builder.build(tmp_path, "acme", "docs", chunks) == len(chunks)
    embedded = await builder.open(tmp_path)
    await write(backend, KEY, chunks)
    server = await backend.open(card_of(backend, KEY))
    texts = (
        "",
        "who directed Name 3",
        "where was the writer of Name 7 born",
        "parts of what the director of Name 1 wrote",
    )
    hits = 0
    for number in range(60):
        seeds = ("Name", "3") if number == 59 else (f"Name {number % 40}", f"name {number * 7 % 45}")
        request = asked(*seeds, text=texts[number % len(texts)])
        ours, theirs = await embedded.search(request), await server.search(request)
        assert theirs == ours
        hits += len(ours.hits)
    assert hits > 1_000
    await embedded.close()


@pytest.mark.engine
async def test_writing_again_and_deleting_leave_what_is_stated(tmp_path: Path, backend: ServerBackend) -> None:
    """After replacing and deleting, the graph is that of the chunks that are there: no relation outlives them."""
    chunks = drawn_graph(6)
    await write(backend, KEY, chunks)
    newer = [
        one.model_copy(update={"chunk_id": chunks[place].chunk_id}) for place, one in enumerate(drawn_graph(7)[:60])
    ]
    await backend.upsert(KEY, newer)
    gone = [one.chunk_id for one in chunks[100:]]
    assert await backend.delete(KEY, gone) == 50
    await backend.refresh(KEY)
    left = [*newer, *chunks[60:100]]
    builder = KgliteIndexBuilder()
    assert builder.build(tmp_path, "acme", "docs", left) == await backend.count(KEY) == 100
    embedded = await builder.open(tmp_path)
    server = await backend.open(card_of(backend, KEY))
    for number in range(40):
        request = asked(f"Name {number}", f"Name {number + 1}")
        assert (await server.search(request)).hits == (await embedded.search(request)).hits
    await embedded.close()


@pytest.mark.engine
async def test_a_walk_never_passes_through_another_tenant(settings: ServerSettings, backend: ServerBackend) -> None:
    """TEN-05: relations planted across tenants are not followed, by either."""
    theirs = KEY._replace(tenant="globex")
    await write(
        backend, KEY, [chunk("a", "A"), chunk("b", "B"), chunk("c", "C"), chunk("f", triples=(("A", "R", "B"),))]
    )
    await write(backend, theirs, [chunk("x", "X")])
    assert settings.password is not None
    auth = (settings.username or "", settings.password.get_secret_value())
    async with neo4j.AsyncGraphDatabase.driver(settings.url, auth=auth) as driver:
        for subject, target in (("acme/docs/g1/a", "globex/docs/g1/x"), ("globex/docs/g1/x", "acme/docs/g1/c")):
            planted = await driver.execute_query(
                "MATCH (s:fanfuse_Entity {key: $s}) MATCH (o:fanfuse_Entity {key: $o})"
                " CREATE (s)-[:RELATED {name: 'R', subject_rank: 1, subject_alike: 1, object_rank: 1, object_alike: 1,"
                " stated: 1}]->(o) RETURN s",
                s=subject, o=target,
            )  # fmt: skip
            assert len(planted.records) == 1
    engine = await backend.open(card_of(backend, KEY))
    assert {hit.chunk_id for hit in (await engine.search(asked("A"))).hits} == {"a", "b", "f"}
    assert (await engine.search(asked("X"))).hits == ()
    other = await backend.open(card_of(backend, theirs))
    assert [hit.chunk_id for hit in (await other.search(asked("X", tenant="globex"))).hits] == ["x"]


@pytest.mark.engine
async def test_a_generation_of_another_format_is_refused(settings: ServerSettings, backend: ServerBackend) -> None:
    """One written by an earlier version has no such ranks: it is not walked, and the reason says what to do."""
    await write(backend, KEY, [chunk("a", "A")])
    assert settings.password is not None
    auth = (settings.username or "", settings.password.get_secret_value())
    async with neo4j.AsyncGraphDatabase.driver(settings.url, auth=auth) as driver:
        await driver.execute_query("MATCH (n:fanfuse_Index {key: 'acme/docs/g1/'}) REMOVE n.format")
    with pytest.raises(SearchError) as refused:
        await backend.open(card_of(backend, KEY))
    assert refused.value.kind is FailureKind.CONFIG
    assert "index the corpus again" in refused.value.message


@pytest.mark.engine
async def test_no_name_is_syntax(backend: ServerBackend) -> None:
    """NEO-01, NEO-02: odd names and injections find what bears that very name, and nothing is deleted."""
    names = (*ODD_NAMES, *INJECTIONS)
    await write(backend, KEY, [chunk(f"c{number:02}", name) for number, name in enumerate(names)])
    engine = await backend.open(card_of(backend, KEY))
    for number, name in enumerate(names):
        assert [hit.chunk_id for hit in (await engine.search(asked(name))).hits] == [f"c{number:02}"]
    assert await backend.count(KEY) == len(names)
    by_words = await engine.search(asked("panel"))
    assert [hit.chunk_id for hit in by_words.hits] == ["c03"]
    for lone in ("OR", "NOT", "**", "+", "~", '"', "\\", "[a TO z]", "panel~2 OR *"):
        assert (await engine.search(asked(lone))).hits == ()


def test_statements_are_constants_and_bounded() -> None:
    """NEO-02, NEO-05: labels of one namespace, a row cap in every reading statement, the owner on every node."""
    statements = Statements("fanfuse")
    for find in Find:
        for full_text in (True, False):
            statement, _ = statements.ask(Ask(find, ("a`) DETACH DELETE n //",), (1,)), None, full_text=full_text)
            assert "DELETE" not in statement
            assert "LIMIT $rows" in statement
            for part in statement.split(" UNION ALL "):
                returned = part.rpartition(" RETURN ")[2].partition(" ORDER BY ")[0].partition(" LIMIT ")[0]
                assert tuple(column.split()[-1] for column in returned.split(", ")) == COLUMNS[find]
            assert set(re.findall(r"\[\w*:(\w+)", statement)) <= {"RELATED", "MENTIONS"}
            for node in set(re.findall(r"\((\w+):`fanfuse_", statement)):
                for part in ("tenant", "corpus", "generation"):
                    assert f"{node}.{part} = ${part}" in statement
    for bad in ("x`) RETURN 1 //", "A", "", "a\tb"):
        with pytest.raises(SearchError) as refused:
            Statements(bad)
        assert refused.value.kind is FailureKind.CONFIG


@pytest.mark.engine
async def test_minus_zero_is_zero(backend: ServerBackend) -> None:
    """TEN-02: the server orders -0.0 before 0.0; stored or asked, they are one number."""
    chunks = [
        chunk(name, "A").model_copy(update={"metadata": {"score": score}})
        for name, score in (("minus", -0.0), ("plus", 0.0), ("whole", 0), ("less", -5e-324), ("more", 5e-324))
    ]
    await write(backend, KEY, chunks)
    engine = await backend.open(card_of(backend, KEY))
    zeros = {"minus", "plus", "whole"}
    expected = {Op.GT: {"more"}, Op.GTE: {"more", *zeros}, Op.LT: {"less"}, Op.LTE: {"less", *zeros}, Op.EQ: zeros}
    for value in (-0.0, 0.0, 0):
        for op, names in expected.items():
            condition = Leaf(field="score", op=op, value=value)
            hits = (await engine.search(dataclasses.replace(asked("A"), filter=condition))).hits
            assert {hit.chunk_id for hit in hits} == names


def test_words_are_quoted_for_lucene() -> None:
    """NEO-01: within quotes nothing but a quote and a backslash means anything to Lucene, and both are escaped."""
    assert lucene_phrase('a"b\\c') == '"a\\"b\\\\c"'
    assert lucene_query(("and", "x")) == '+words:"and" +words:"x"'


@pytest.mark.engine
async def test_sessions_are_not_shared_and_come_back(backend: ServerBackend) -> None:
    """NEO-04: 20 searches at once on 8 connections, some cancelled; each has its own hits, and then there is room."""
    await write(backend, KEY, [chunk(f"c{number:02}", f"Name {number}") for number in range(20)])
    engine = await backend.open(card_of(backend, KEY))
    for _ in range(3):
        searches = [asyncio.create_task(engine.search(asked(f"Name {number}"))) for number in range(20)]
        await asyncio.sleep(0.01)
        searches[7].cancel()
        outcomes = await asyncio.gather(*searches, return_exceptions=True)
        for number, outcome in enumerate(outcomes):
            if number != 7:
                assert not isinstance(outcome, BaseException)
                assert [hit.chunk_id for hit in outcome.hits] == [f"c{number:02}"]
    async with asyncio.timeout(10):
        again = await asyncio.gather(*(engine.search(asked("Name 1")) for _ in range(8)))
    assert {hit.chunk_id for result in again for hit in result.hits} == {"c01"}


@pytest.mark.engine
async def test_time_up_is_a_timeout_and_a_full_pool_is_overload(settings: ServerSettings) -> None:
    """NEO-05: never an empty list; the server is told of the limit too, and stops."""
    assert settings.password is not None
    auth = (settings.username or "", settings.password.get_secret_value())
    async with neo4j.AsyncGraphDatabase.driver(settings.url, auth=auth) as driver:
        calls = Neo4jCalls(driver, settings.database, 1)
        endless = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(a + b) AS n"
        running = asyncio.create_task(calls.read(endless, {}, 1.0))
        await asyncio.sleep(0.3)
        with pytest.raises(SearchError) as full:
            await calls.read("RETURN 1 AS one", {}, 0.1)
        assert full.value.kind is FailureKind.OVERLOADED
        with pytest.raises(SearchError) as late:
            await running
        assert late.value.kind is FailureKind.TIMEOUT
        assert (await calls.read("RETURN 1 AS one", {}, 5.0))[0]["one"] == 1
        with pytest.raises(SearchError) as wrong:
            await calls.read("THIS IS NOT CYPHER secret", {}, 5.0)
        assert wrong.value.kind is FailureKind.BAD_REQUEST
        assert "secret" not in wrong.value.message
        with pytest.raises(SearchError) as writing:
            await calls.read("CREATE (n:Planted)", {}, 5.0)
        assert writing.value.kind is FailureKind.BAD_REQUEST
        await calls.close()


@pytest.mark.engine
async def test_wrong_password_and_database_are_configuration(settings: ServerSettings) -> None:
    for changed in (
        dataclasses.replace(settings, password=SecretStr("very-wrong-word")),
        dataclasses.replace(settings, database="nowhere"),
    ):
        backend = connect(changed)
        with pytest.raises(SearchError) as refused:
            await backend.health()
        assert refused.value.kind is FailureKind.CONFIG
        assert "very-wrong-word" not in str(refused.value)
        await backend.close()


async def test_nobody_there_and_bad_urls() -> None:
    backend = connect(ServerSettings(url="bolt://127.0.0.1:9", password=SecretStr("x")))
    with pytest.raises(SearchError) as gone:
        await backend.health()
    assert gone.value.kind is FailureKind.UNAVAILABLE
    await backend.close()
    with pytest.raises(SearchError) as bad:
        connect(ServerSettings(url="http://127.0.0.1:9"))
    assert bad.value.kind is FailureKind.CONFIG


@pytest.mark.engine
@pytest.mark.parametrize("release", [NEO4J_5, NEO4J_2026], ids=lambda release: release.version)
async def test_killed_under_load_and_started_again(release: Neo4jRelease) -> None:
    """500 searches while the server is killed and started: each ends with hits or a typed failure; then all is well."""
    server = own_neo4j(release)
    try:
        backend = connect(server.settings)
        await write(backend, KEY, [chunk(f"c{number:02}", f"Name {number}") for number in range(20)])
        engine = await backend.open(card_of(backend, KEY))

        few = asyncio.Semaphore(8)

        async def one(number: int) -> str:
            try:
                async with few:
                    hits = (await engine.search(asked(f"Name {number % 20}"))).hits
            except SearchError as error:
                return error.kind.value
            assert [hit.chunk_id for hit in hits] == [f"c{number % 20:02}"]
            return "hits"

        async def many(count: int) -> list[str]:
            return await asyncio.gather(*(one(number) for number in range(count)))

        assert set(await many(100)) == {"hits"}
        dying = asyncio.create_task(many(100))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(server.kill)
        assert set(await dying) <= {"hits", "unavailable", "timeout"}
        assert set(await many(100)) == {"unavailable"}
        await asyncio.to_thread(server.start)
        assert (await many(100)).count("hits") >= 90
        assert set(await many(100)) == {"hits"}
        assert await backend.count(KEY) == 20
        await backend.close()
    finally:
        server.close()
