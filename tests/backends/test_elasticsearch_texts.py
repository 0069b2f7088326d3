"""Query text is data for both keyword clients: asserted on the body that is sent, and on what servers find."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest

from fanfuse_backend_workers.adapters import elasticsearch, opensearch
from fanfuse_backend_workers.adapters.lucene_queries import MAX_TERMS
from fanfuse_backend_workers.ports import SearchEngine, SearchRequest
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.filters import And, Filter, Leaf, Op
from fanfuse_testing.hostile_queries import QUERIES, TEXTS
from fanfuse_testing.server_case import card_of, write
from tests.servers.keyword_servers import KEYWORD_SERVERS, KeywordServer
from tests.servers.opensearch_errors import KEY, hits, searched
from tests.servers.opensearch_scripted import ScriptedServer

Connect = Callable[[ServerSettings], ServerBackend]
IDS = (
    "TRAVEL-2026-02 travel travel 2026 01 cancellation fee cancellation fee refund travel 01 01",
    "short notice about TRAVEL-2026-01",
    "TRAVEL-2025-01 travel 2026 01 cancellation fee",
    "cancellation fee cancellation fee cancellation fee",
    "RFC 9111 caching, see the RFC of RFCs, RFC RFC",
    "semantics: RFC 9110",
    "9110 people read an RFC",
    "pathlib.Path.read_text returns text",
    "行程 TRAVEL-2026-02 取消行程的退票费如何处理",
)


@pytest.fixture(params=KEYWORD_SERVERS)
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[ServerBackend]:
    server: KeywordServer = request.param
    backend = server.connect(ServerSettings(url=server.address(), namespace="texts"))
    await backend.delete(KEY)
    yield backend
    await backend.delete(KEY)
    await backend.close()


async def opened(backend: ServerBackend, texts: tuple[str, ...]) -> SearchEngine:
    chunks = [Chunk(chunk_id=f"c{number}", text=text, content_hash="0") for number, text in enumerate(texts)]
    await write(backend, KEY, chunks)
    return await backend.open(card_of(backend, KEY))


def asked(text: str, identifiers: tuple[str, ...] = (), condition: Filter | None = None) -> SearchRequest:
    return SearchRequest(KEY.tenant, KEY.corpus, text, 10, 10.0, identifiers=identifiers, filter=condition)


async def found(engine: SearchEngine, text: str, identifiers: tuple[str, ...] = ()) -> list[str]:
    return [hit.chunk_id for hit in (await engine.search(asked(text, identifiers))).hits]


async def test_text_is_data(backend: ServerBackend) -> None:
    """ELA-01, CLS-01: no operator, no field, no wildcard, no error."""
    engine = await opened(backend, TEXTS)
    assert [(text, await found(engine, text)) for text, _ in QUERIES] == list(QUERIES)


@pytest.mark.parametrize("connect", [elasticsearch.connect, opensearch.connect], ids=["elasticsearch", "opensearch"])
async def test_the_body_that_is_sent_holds_terms_only(connect: Connect) -> None:
    """ELA-01: no query of any kind that parses text; only our own fields; tenant and corpus in each."""
    async with ScriptedServer(searched(lambda _: hits())) as server:
        backend = connect(ServerSettings(url=server.url))
        engine = await backend.open(card_of(backend, KEY))
        condition = Leaf(field="lang", op=Op.EQ, value='de" OR *:*')
        for text, _ in QUERIES:
            await engine.search(asked(text, condition=condition))
        await backend.close()
    bodies = [one.json() for one in server.asked_for("/_search")]
    assert len(bodies) == len([hits for text, hits in QUERIES if hits or text in ("tenant:acme", '{"match_all": {}}')])
    for body in bodies:
        assert set(_kinds(body["query"])) <= {"bool", "term", "terms", "constant_score", "match_phrase"}
        assert set(_fields(body["query"])) <= {"words", "wholes", "tenant", "corpus", "m.lang.s"}
        assert body["query"]["bool"]["minimum_should_match"] == 1
        required = body["query"]["bool"]["filter"]
        assert required[:2] == [{"term": {"tenant": "acme"}}, {"term": {"corpus": "docs"}}]
        assert required[2] == {"terms": {"m.lang.s": ['de" OR *:*']}}
        assert body["track_total_hits"] is False
        assert body["timeout"] == "8000ms"
        assert body["sort"] == [{"_score": "desc"}, {"chunk_id": "asc"}]


async def test_the_exact_identifier_comes_first(backend: ServerBackend) -> None:
    """CLS-03: no near miss is above it, whatever else the near miss says; one that is not there has no near miss."""
    engine = await opened(backend, IDS)
    assert (await found(engine, "TRAVEL-2026-01"))[0] == "c1"
    assert (await found(engine, "travel-2026-01 cancellation fee"))[0] == "c1"
    assert (await found(engine, "TRAVEL-2026-01 中取消行程的退票费如何处理", ("TRAVEL-2026-01",)))[0] == "c1"
    assert (await found(engine, "RFC 9110", ("RFC 9110",)))[0] == "c5"
    assert (await found(engine, "Path.read_text"))[0] == "c7"
    assert await found(engine, "TRAVEL-2026-03") == []
    assert await found(engine, "取消") == ["c8"]


async def test_endless_words_and_endless_queries(backend: ServerBackend) -> None:
    """ING-04: what stands beside a 40 kB word is found; a query of more words than a server takes says so."""
    texts = ("before " + "QUJD" * 10_000 + " after", "x" * 256, "行程" * 750)
    engine = await opened(backend, texts)
    assert await found(engine, "after") == ["c0"]
    assert await found(engine, "x" * 256) == ["c1"]
    assert await found(engine, "行程") == ["c2"]
    endless = await engine.search(asked("after " + " ".join(f"w{number}" for number in range(2_000))))
    assert [hit.chunk_id for hit in endless.hits] == ["c0"]
    assert endless.cut == f"{MAX_TERMS} of the query's 2001 terms were searched"


async def test_the_largest_filter_and_query_are_taken(backend: ServerBackend) -> None:
    """The limits of the contract stay below a server's limit of clauses."""
    engine = await opened(backend, TEXTS)
    many = Leaf(field="lang", op=Op.NOT_IN, value=tuple(f"v{number}" for number in range(256)))
    numbers = Leaf(field="score", op=Op.NOT_IN, value=tuple(float(number) for number in range(256)))
    text = "alice " + " ".join(f"w{number}" for number in range(2_000))
    for condition in (many, And(all_of=(numbers,) * 32), Leaf(field="lang", op=Op.NE, value="x" * 40_000)):
        assert [hit.chunk_id for hit in (await engine.search(asked(text, condition=condition))).hits] == ["c0"]
    inside = Leaf(field="lang", op=Op.CONTAINS, value="*?\\" * 85)
    assert (await engine.search(asked("alice", condition=inside))).hits == ()


def _kinds(query: Any) -> Iterator[str]:
    """Names of the query clauses in a query."""
    for kind, inner in query.items():
        yield kind
        if kind == "bool":
            for name in ("should", "filter", "must_not", "must"):
                for part in inner.get(name, ()):
                    yield from _kinds(part)
        elif kind == "constant_score":
            yield from _kinds(inner["filter"])


def _fields(query: Any) -> Iterator[str]:
    for kind, inner in query.items():
        if kind in ("term", "terms", "match_phrase"):
            yield from inner
        elif isinstance(inner, Mapping):
            yield from (field for part in _parts(inner) for field in _fields(part))


def _parts(clause: Mapping[str, Any]) -> Iterator[Any]:
    for part in clause.values():
        if isinstance(part, list):
            yield from part
        elif isinstance(part, Mapping):
            yield part
