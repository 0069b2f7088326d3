"""The graph engine: seeds, hops, isolation at every hop, hubs, time, and nothing pasted into a statement."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import kglite
import pytest

from fanfuse_backend_workers.adapters import kglite_queries, kglite_walk
from fanfuse_backend_workers.adapters.filter_values import HasValue
from fanfuse_backend_workers.adapters.kglite_edges import Edges
from fanfuse_backend_workers.adapters.kglite_index import KgliteIndexBuilder
from fanfuse_backend_workers.domain.graph_asks import Ask, Find
from fanfuse_backend_workers.domain.graph_seeds import MATCHES_PER_SEED
from fanfuse_backend_workers.ports import EngineResult, SearchEngine, SearchError, SearchRequest
from fanfuse_contracts.chunks import Chunk, Triple
from fanfuse_contracts.enums import FailureKind


def chunk(name: str, *entities: str, triples: Sequence[tuple[str, str, str]] = ()) -> Chunk:
    relations = tuple(Triple(subject=subject, relation=name, object=target) for subject, name, target in triples)
    return Chunk(chunk_id=name, text="t", content_hash="0", entities=entities, triples=relations)


async def opened(folder: Path, *chunks: Chunk) -> SearchEngine:
    builder = KgliteIndexBuilder()
    assert builder.build(folder, "acme", "docs", chunks) == len(chunks)
    return await builder.open(folder)


async def search(engine: SearchEngine, *seeds: str, window: int = 10, timeout_s: float = 5.0) -> EngineResult:
    return await engine.search(SearchRequest("acme", "docs", "", window, timeout_s, seeds=seeds))


async def found(engine: SearchEngine, *seeds: str, window: int = 10) -> list[str]:
    return [hit.chunk_id for hit in (await search(engine, *seeds, window=window)).hits]


async def test_ranking(tmp_path: Path) -> None:
    """Two seeds before one, a rare seed before a common one, near before far, and nothing that no relation leads to."""
    engine = await opened(
        tmp_path,
        chunk("both", "Alice", "Acme"),
        chunk("rare", "Alice"),
        chunk("common-1", "Acme"),
        chunk("common-2", "Acme"),
        chunk("common-3", "Acme"),
        chunk("facts", triples=[("Alice", "KNOWS", "Bob"), ("Bob", "KNOWS", "Carol"), ("Carol", "KNOWS", "Dan")]),
        chunk("one-hop", "Bob"),
        chunk("two-hops", "Carol"),
        chunk("three-hops", "Dan"),
        chunk("elsewhere", "Eve"),
    )
    result = await search(engine, "Alice", "Acme")
    order = [hit.chunk_id for hit in result.hits]
    assert set(order) == {
        "both", "facts", "rare", "common-1", "common-2", "common-3", "one-hop", "two-hops", "three-hops",
    }  # fmt: skip
    for better, worse in (("both", "rare"), ("rare", "common-1"), ("one-hop", "two-hops"), ("two-hops", "three-hops")):
        assert order.index(better) < order.index(worse)
    assert [name for name in order if name.startswith("common")] == ["common-1", "common-2", "common-3"]
    assert result.cut is None
    await engine.close()


async def test_the_question_says_which_relation(tmp_path: Path) -> None:
    """Words of the question are matched with names of relations, nearest to the seed first."""
    facts = [
        ("Solaris", "DIRECTED_BY", "Tarkovsky"),
        ("Solaris", "WRITTEN_BY", "Lem"),
        ("Solaris", "IN_LANGUAGE", "Russian"),
        ("Mirror", "DIRECTED_BY", "Tarkovsky"),
        ("Mirror", "WRITTEN_BY", "Misharin"),
    ]
    pages = [chunk(name).model_copy(update={"title": name}) for name in ("Tarkovsky", "Lem", "Russian", "Misharin")]
    engine = await opened(tmp_path, chunk("facts", triples=facts), *pages)

    async def pages_of(text: str) -> list[str]:
        result = await engine.search(SearchRequest("acme", "docs", text, 10, 5.0, seeds=("Solaris",)))
        return [hit.chunk_id for hit in result.hits if hit.chunk_id != "facts"]

    assert (await pages_of("who wrote Solaris"))[0] == "Lem"
    assert (await pages_of("the director of Solaris"))[0] == "Tarkovsky"
    assert (await pages_of("which languages are spoken in Solaris"))[0] == "Russian"
    far = await pages_of("the screenwriter of films directed by the director of Solaris")
    assert far.index("Misharin") < far.index("Russian")
    await engine.close()


async def test_a_name_is_found_by_its_place_in_the_text_or_by_its_words(tmp_path: Path) -> None:
    """A seed that is no whole name: the longest name around it in the text, else names that hold all its words."""
    engine = await opened(tmp_path, chunk("film", "A Master Builder"), chunk("other", "Quentin Tarantino"))

    async def of(seed: str, text: str = "") -> list[str]:
        hits = (await engine.search(SearchRequest("acme", "docs", text, 10, 5.0, seeds=(seed,)))).hits
        return [hit.chunk_id for hit in hits]

    assert await of("Film A Master Builder", "who wrote the Film A Master Builder?") == ["film"]
    assert await of("tarantino") == ["other"]
    assert await of("builder tarantino") == []
    assert await of("unknown", "films of Quentin Tarantino") == ["other"]
    await engine.close()


@pytest.mark.parametrize(
    ("seed", "hits"),
    [
        ("pathlib.Path.read_text", ["method"]),
        ("PATHLIB.path.READ_TEXT", ["method"]),
        ("  read_text() ", ["method"]),
        ("Path.read_text", ["method"]),
        ("ｒｅａｄ＿ｔｅｘｔ", ["method"]),
        ("h.read_text", []),
        ("Zu\u0308rich", ["city"]),
        ("straße", ["street"]),
        ("STRASSE", ["street"]),
        ("", []),
        ("   ", []),
    ],
)
async def test_seeds_resolve_by_name_then_by_the_end_of_a_symbol(tmp_path: Path, seed: str, hits: list[str]) -> None:
    engine = await opened(
        tmp_path, chunk("method", "pathlib.Path.read_text"), chunk("city", "Zürich"), chunk("street", "Straße")
    )
    assert await found(engine, seed) == hits
    await engine.close()


ODD_NAMES = ("causes/effects", "pm-17", "Acme (UK)", 'ZX9 9" panel', "C++", "AND", "host:", "/a trial", "*", "it's \\")


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_names_with_punctuation_find_themselves_and_nothing_else(tmp_path: Path, name: str) -> None:
    """NEO-01: no name is parsed."""
    engine = await opened(tmp_path, *(chunk(f"c{number}", other) for number, other in enumerate(ODD_NAMES)))
    assert await found(engine, name) == [f"c{ODD_NAMES.index(name)}"]
    await engine.close()


INJECTIONS = (
    "KNOWS`]->(n) DETACH DELETE n //",
    "X`) RETURN 1 //",
    "X`)\tRETURN 1 //",
    "1..5) MATCH (m",
    "10; DROP",
    "' OR 1=1 //",
    "$tenant",
    "e.key",
)


@pytest.mark.parametrize("seed", INJECTIONS)
async def test_no_seed_is_part_of_a_statement(tmp_path: Path, seed: str) -> None:
    """NEO-02: it finds what bears that very name, and the graph stays as it was."""
    engine = await opened(tmp_path, chunk("plain", "Alice"), chunk("odd", seed))
    assert await found(engine, seed) == ["odd"]
    assert await engine.count() == 2
    await engine.close()


def test_statements_are_constants_and_bounded() -> None:
    """NEO-02, NEO-05: only names from the allow-list, a row cap in every reading statement, a scope on every node."""
    asks = [Ask(find, ("a",)) for find in Find if find not in (Find.RELATIONS, Find.MENTIONS)]
    reading = [kglite_queries.statement(ask)[0] for ask in asks]
    filtered, _ = kglite_queries.allowed(["c"], HasValue(3, ((0, 1), (4, 5)), 9))
    for statement in [*reading, filtered]:
        assert set(re.findall(r"\(\w+:(\w+)", statement)) <= {"Entity", "Chunk", "RelationWord"}
        assert "LIMIT $rows" in statement
        nodes = set(re.findall(r"\((\w+):", statement))
        for node in nodes:
            assert f"{node}.tenant = $tenant" in statement
            assert f"{node}.corpus = $corpus" in statement


async def test_the_session_refuses_writes(tmp_path: Path) -> None:
    builder = KgliteIndexBuilder()
    builder.build(tmp_path, "acme", "docs", [chunk("a", "Alice")])
    session = kglite.open_session(str(tmp_path / "graph.kgl"))
    with pytest.raises(kglite.ReadOnlyError):
        session.cypher("MATCH (n) DETACH DELETE n")


async def test_a_walk_never_passes_through_another_tenant(tmp_path: Path) -> None:
    """TEN-05: edges are of one tenant and corpus; nobody else reads them, and a file of another's is refused."""
    builder = KgliteIndexBuilder()
    ours, theirs = tmp_path / "acme", tmp_path / "globex"
    for folder, names in ((ours, ("A", "B")), (theirs, ("A", "X"))):
        folder.mkdir()
        chunks = [chunk(name.lower(), name, triples=[(*names[:1], "REL", names[1])]) for name in names]
        builder.build(folder, folder.name, "docs", chunks)
    engine = await builder.open(ours)
    assert sorted(await found(engine, "A")) == ["a", "b"]
    assert await found(engine, "X") == []
    for tenant, corpus in (("globex", "docs"), ("acme", "other")):
        assert (await engine.search(SearchRequest(tenant, corpus, "", 10, 5.0, seeds=("A",)))).hits == ()
    await engine.close()
    edges = Edges.load(ours / "edges.bin", {"tenant": "acme", "corpus": "docs"})
    for find in (edges.relations, edges.mentions):
        ask = Ask(Find.RELATIONS, ("a",), (5,))
        assert find(ask, {"tenant": "acme", "corpus": "docs"})
        assert find(ask, {"tenant": "globex", "corpus": "docs"}) == []
    shutil.copy(theirs / "edges.bin", ours / "edges.bin")
    with pytest.raises(SearchError) as refused:
        await builder.open(ours)
    assert refused.value.kind is FailureKind.CONFIG


async def test_a_graph_without_whole_edges_is_refused(tmp_path: Path) -> None:
    """An index of an earlier version, or half a file: index again, never fewer hits."""
    builder = KgliteIndexBuilder()
    builder.build(tmp_path, "acme", "docs", [chunk("a", "Alice", triples=[("Alice", "KNOWS", "Bob")])])
    whole = (tmp_path / "edges.bin").read_bytes()
    for broken in (None, b"", whole[:-4], whole[:20]):
        (tmp_path / "edges.bin").unlink(missing_ok=True)
        if broken is not None:
            (tmp_path / "edges.bin").write_bytes(broken)
        with pytest.raises(SearchError) as refused:
            await builder.open(tmp_path)
        assert refused.value.kind is FailureKind.CONFIG


async def test_a_hub_is_cut_and_says_so(tmp_path: Path) -> None:
    """NEO-05: what may be missing from the window is said: here one of 50,000 neighbours that all weigh the same."""
    neighbours = 50_000
    chunks = [
        chunk(f"fact-{block:03}", triples=[("Hub", "HAS", f"n{block * 500 + i}") for i in range(500)])
        for block in range(neighbours // 500)
    ]
    pages = [chunk(f"n{number}").model_copy(update={"title": f"n{number}"}) for number in range(0, neighbours, 50)]
    engine = await opened(tmp_path, *chunks, *pages)
    many = await search(engine, "Hub", window=500)
    assert "fact-000" in [hit.chunk_id for hit in many.hits]
    assert "fan-out" in (many.cut or "").split(", ")
    behind = await search(engine, "n7", window=500)
    assert behind.hits[0].chunk_id == "fact-000"
    assert "fan-out" in (behind.cut or "").split(", ")
    await engine.close()


async def test_equal_chunks_beyond_the_window_cut_nothing(tmp_path: Path) -> None:
    """6,000 chunks mention the seed and nothing else: those in the window are the first by id, whatever is unread."""
    engine = await opened(tmp_path, *(chunk(f"mention-{number:04}", "Hub") for number in range(6_000)))
    result = await search(engine, "Hub", window=10)
    assert [hit.chunk_id for hit in result.hits] == [f"mention-{number:04}" for number in range(10)]
    assert result.cut is None
    whole = await search(engine, "Hub", window=2_000)
    assert len(whole.hits) < 2_000
    assert whole.cut == "mentions"
    await engine.close()


async def test_a_hub_does_not_keep_the_good_path_out(tmp_path: Path) -> None:
    """A seed has 4,176 neighbours by one name and one by another; what lies behind that one is found, and no cut."""
    crowd = [chunk(f"crowd-{block}", triples=[("Hub", "HAS", f"n{block * 87 + i}") for i in range(87)])
             for block in range(48)]  # fmt: skip
    path = chunk("path", triples=[("Hub", "LED_BY", "Zed"), ("Zed", "BORN_IN", "Zurich")])
    pages = [chunk(name).model_copy(update={"title": name}) for name in ("Zed", "Zurich", "n5", "n4175")]
    engine = await opened(tmp_path, *crowd, path, *pages)
    even = await search(engine, "Hub", "Alice", window=3)
    assert even.hits[0].chunk_id == "Zed"
    asked = SearchRequest("acme", "docs", "where was the leader of Hub born", 3, 5.0, seeds=("Hub",))
    result = await engine.search(asked)
    assert {"Zed", "Zurich"} <= {hit.chunk_id for hit in result.hits}
    assert result.cut is None
    await engine.close()


async def test_time_up_is_a_timeout_and_never_an_empty_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NEO-05: without any hit it is a failure; with hits of a nearer distance it is a cut."""
    others = [chunk(f"n{number}", f"E{number}") for number in range(3_000)]
    engine = await opened(tmp_path, chunk("near", triples=[("A", "R", "B")]), chunk("far", "B"), *others)
    endless = (
        "MATCH (a:Entity), (b:Entity), (c:Entity) WITH count(*) AS n"
        " UNWIND $keys AS wanted RETURN n, $tenant, $corpus, $rows"
    )
    with monkeypatch.context() as patched:
        patched.setitem(kglite_queries._NODES, Find.KEYS, endless)
        with pytest.raises(SearchError) as error:
            await search(engine, "A", timeout_s=0.2)
        assert error.value.kind is FailureKind.TIMEOUT
    with monkeypatch.context() as patched:
        patched.setattr(kglite_walk, "_HOPS_SHARE", 0.0)
        cut = await search(engine, "A", timeout_s=5.0)
        assert [hit.chunk_id for hit in cut.hits] == ["near"]
        assert cut.cut == "time"
    assert sorted(await found(engine, "A")) == ["far", "near"]
    await engine.close()


async def test_a_last_name_of_many_symbols_is_bounded(tmp_path: Path) -> None:
    names = [chunk(f"c{number:03}", f"module{number}.run") for number in range(MATCHES_PER_SEED + 4)]
    engine = await opened(tmp_path, *names)
    result = await search(engine, "run", window=100)
    assert len(result.hits) == MATCHES_PER_SEED
    assert result.cut == "seed matches"
    await engine.close()
