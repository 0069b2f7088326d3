"""The embedded keyword engine and servers agree: the same documents, filters and queries, the same hits in one order.

Scores have a constant ratio: 1 to a server that scores with BM25's factor k1 + 1, 2.2 to one without. One difference
is known and bounded: for compounds kept whole, a server counts only the documents that have any in its statistics.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder
from fanfuse_backend_workers.domain.analysis import analyse_query
from fanfuse_backend_workers.ports import EngineHit, SearchEngine, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.filters import And, Filter, Leaf, Not, Op, Or
from fanfuse_testing.collections import load_collection
from fanfuse_testing.server_case import card_of, write
from fanfuse_testing.typed_filters import FIELDS, typed_metadata
from tests.servers.keyword_servers import KEYWORD_SERVERS, STAND_IN, KeywordServer

pytestmark = pytest.mark.slow

KEY = IndexKey("acme", "docs", "g1")
WINDOW = 50
ROUNDING = 1e-6
"""Engines add the same terms in another order: scores that differ by less are a tie."""
CRAFTED = (
    ("TRAVEL-2026-02", "cancellation fee of TRAVEL-2026-02, see travel 2026"),
    ("TRAVEL-2026-01", "short notice about TRAVEL-2026-01"),
    ("RFC", "semantics: RFC 9110 obsoletes RFC 7231"),
    ("code", "pathlib.Path.read_text and os.path.join in snake_case_name and CamelCaseName"),
    ("chinese", "行程 取消行程的退票费如何处理"),
    ("mixed", "C++ と 日本語 é É naïve don't"),
    ("", "x" * 256 + " " + "y" * 300),
)
ASKED = (
    "TRAVEL-2026-01",
    "travel 2026 cancellation fee",
    "pathlib.Path.read_text",
    "snake_case_name CamelCaseName",
    "取消行程的退票费",
    "C++ naïve dont",
    "cell cell cell growth",
    "the of and",
    "x" * 256,
)
FILTERS: tuple[Filter | None, ...] = (
    None,
    Leaf(field="year", op=Op.GTE, value=2019.5),
    Leaf(field="lang", op=Op.CONTAINS, value="e"),
    Leaf(field="tags", op=Op.CONTAINS, value="ab"),
    And(
        all_of=(
            Leaf(field="score", op=Op.LT, value=1e300),
            Not(negated=Leaf(field="draft", op=Op.EQ, value=True)),
        )
    ),
    Or(any_of=(Leaf(field="lang", op=Op.NE, value="de"), Leaf(field="year", op=Op.EXISTS, value=False))),
)


class Size(NamedTuple):
    """How much is compared: the stand-in looks at every chunk for every query."""

    chunks: int
    queries: int


class Pair(NamedTuple):
    """The same chunks in both engines, and queries of the collection."""

    embedded: SearchEngine
    server: SearchEngine
    version: str
    queries: Sequence[str]


@pytest.fixture(params=KEYWORD_SERVERS)
async def pair(request: pytest.FixtureRequest, shared: Path, tmp_path: Path) -> AsyncIterator[Pair]:
    collection = load_collection("scifact", shared)
    server: KeywordServer = request.param
    size = Size(250, 10) if server is STAND_IN else Size(1_500, 60)
    texts = [*CRAFTED, *((one.title, one.text) for one in collection.documents)][: size.chunks]
    chunks = [
        Chunk(chunk_id=f"c{n:04}", title=title[:200], text=text, content_hash=f"{n:x}", metadata=metadata)
        for n, ((title, text), metadata) in enumerate(zip(texts, _metadata(size.chunks), strict=True))
    ]
    builder = TantivyIndexBuilder()
    assert builder.build(tmp_path, KEY.tenant, KEY.corpus, iter(chunks)) == size.chunks
    backend: ServerBackend = server.connect(ServerSettings(url=server.address(), namespace="congruence"))
    await backend.delete(KEY)
    await write(backend, KEY, chunks, IndexShape(fields=FIELDS))
    embedded = await builder.open(tmp_path)
    opened = await backend.open(card_of(backend, KEY))
    yield Pair(embedded, opened, server.version, list(collection.queries.values())[: size.queries])
    await embedded.close()
    await backend.delete(KEY)
    await backend.close()


def _metadata(count: int) -> list[dict]:
    """The same 100 sets of metadata over and over."""
    few = typed_metadata(100)
    return [few[number % len(few)] for number in range(count)]


async def both(pair: Pair, text: str, condition: Filter | None) -> tuple[list[EngineHit], list[EngineHit]]:
    asked = SearchRequest(KEY.tenant, KEY.corpus, text, WINDOW, 30.0, filter=condition)
    embedded, server = await pair.embedded.search(asked), await pair.server.search(asked)
    assert embedded.cut is server.cut is None
    return list(embedded.hits), list(server.hits)


async def test_the_same_hits_in_the_same_order(pair: Pair, say: Callable[[str], None]) -> None:
    """Where compounds are asked for, neighbours within one percent may change places; else only what ties."""
    compared = swapped = found = 0
    ratios = []
    for text in (*ASKED, *pair.queries):
        terms = analyse_query(text)
        for condition in FILTERS:
            embedded, server = await both(pair, text, condition)
            compared += 1
            found += len(embedded)
            if [hit.chunk_id for hit in embedded] != [hit.chunk_id for hit in server]:
                assert explained(embedded, server, 0.01 if terms.wholes else ROUNDING)
                swapped += 1
            known = {hit.chunk_id: hit for hit in embedded}
            assert all((hit.content_hash, hit.title) == told(known, hit) for hit in server)
            if not (terms.wholes or terms.exact):
                ratios += [ours.score / theirs.score for ours, theirs in zip(embedded, server, strict=True)]
    assert found > 15 * compared
    assert swapped <= compared * 0.05
    assert min(abs(ratios[0] - known) for known in (1.0, 2.2)) < 1e-4
    assert max(ratios) / min(ratios) - 1 < 1e-5
    ratio = f"ratio of scores {min(ratios):.6f} to {max(ratios):.6f}"
    say(f"embedded and {pair.version}: {compared} searches, {found} hits, {swapped} in another order, {ratio}")


def told(known: Mapping[str, EngineHit], hit: EngineHit) -> tuple[str, str]:
    """Content hash and title by the embedded engine; a hit that only the server has in its window speaks for itself."""
    same = known.get(hit.chunk_id, hit)
    return same.content_hash, same.title


def explained(embedded: list[EngineHit], server: list[EngineHit], within: float) -> bool:
    """Whatever changed its place has nearly the score of what stands there now, or of the last in the window."""
    scores = {hit.chunk_id: hit.score for hit in embedded}
    last = embedded[-1].score
    return len(embedded) == len(server) and all(
        abs(scores.get(theirs.chunk_id, last) / ours.score - 1) < within
        for ours, theirs in zip(embedded, server, strict=True)
        if ours.chunk_id != theirs.chunk_id
    )
