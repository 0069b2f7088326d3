"""No engine gives a hit of another tenant, corpus or generation, or one that its filter forbids.

The same chunk ids, entities and words stand in nine places; a content hash says whose a hit is. What may be found is
told by a plain evaluator that shares no code with any engine. A leak is any hit that is not of the place that is asked,
or that the filter forbids; what is missing is counted too, so that an engine that finds nothing does not pass. Engines
are also asked for places they were not opened for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient

from fanfuse_backend_workers.adapters import neo4j, qdrant
from fanfuse_backend_workers.adapters.embedded import index_builder
from fanfuse_backend_workers.adapters.qdrant_server import QdrantServer
from fanfuse_backend_workers.ports import EngineHit, SearchEngine, SearchError
from fanfuse_backend_workers.servers import IndexKey, ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import Filter
from fanfuse_testing.engine_suite import chunk, request
from fanfuse_testing.filter_reference import FILTERS, holds
from fanfuse_testing.server_case import card_of, write
from fanfuse_testing.typed_filters import TYPED_FILTERS, typed_metadata
from tests.servers.keyword_servers import REAL_SERVERS, STAND_IN, KeywordServer
from tests.servers.neo4j import SHARED_RELEASES, label, neo4j_settings
from tests.servers.neo4j_release import Neo4jRelease
from tests.servers.noida import answers_right
from tests.servers.qdrant import QdrantShim
from tests.servers.qdrant_edge import EdgeStore

CHUNKS: Final = 40
LIVE, OLD = "g1", "g1-docs"
NAMESPACE: Final = "leaks"
EMBEDDED: Final = (Kind.KEYWORD, Kind.VECTOR, Kind.GRAPH)


class Place(NamedTuple):
    """A corpus of a tenant."""

    tenant: str
    corpus: str


# Joined, some of these names are equal.
PLACES: Final = tuple(Place(*names) for names in product(("acme", "acme-docs", "docs"), ("docs", "g1", "docs-g1")))


@dataclass
class Tally:
    """What became of the searches of one kind of engine."""

    searches: int = 0
    hits: int = 0
    refused: int = 0
    missing: int = 0
    leaks: list[tuple[Place, Filter | None, EngineHit]] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.searches:,} combinations of tenant, corpus, filter and engine: {self.hits:,} hits, "
            f"{self.refused} filters refused, {self.missing} missing, {len(self.leaks)} leaks"
        )


@cache
def contents(place: Place, generation: str = LIVE) -> list[Chunk]:
    """Chunks whose ids, words and entities are those of every place, and whose metadata is their own."""
    number, metadata = PLACES.index(place), typed_metadata(CHUNKS)
    return [
        chunk(f"c{row:02}", 1 + row % 10, metadata[(row + 7 * number) % CHUNKS]).model_copy(
            update={"content_hash": f"{number:04x}{len(generation):04x}{row:08x}"}
        )
        for row in range(CHUNKS)
    ]


def drawn(filters: st.SearchStrategy[Filter], count: int) -> list[Filter]:
    """The same filters in every run."""
    found: list[Filter] = []

    @settings(max_examples=count, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(filters)
    def draw(condition: Filter) -> None:
        found.append(condition)

    draw()
    return found


async def search(engine: SearchEngine, opened: Place, asked: Place, condition: Filter | None, tally: Tally) -> None:
    """One combination: an engine opened for one place, asked for one."""
    tally.searches += 1
    try:
        wanted = request(tenant=asked.tenant, corpus=asked.corpus, window=2 * CHUNKS, condition=condition)
        result = await engine.search(replace(wanted, timeout_s=30.0))
    except SearchError as error:
        assert error.kind is FailureKind.UNSUPPORTED_FILTER  # noqa: PT017 - any other is no answer of the test
        tally.refused += 1
        return
    allowed = {one.content_hash for one in contents(asked) if condition is None or holds(condition, one.metadata)}
    tally.hits += len(result.hits)
    tally.missing += len(allowed - {hit.content_hash for hit in result.hits}) if asked == opened else 0
    tally.leaks += [(asked, condition, hit) for hit in result.hits if hit.content_hash not in allowed]


async def search_all(engines: Mapping[Place, SearchEngine], filters: list[Filter], strange: int, tally: Tally) -> None:
    """Every engine with every filter in its own place, and with `strange` of them in every other."""
    for opened, engine in engines.items():
        for asked in PLACES:
            for condition in (None, *(filters if asked == opened else filters[:strange])):
                await search(engine, opened, asked, condition, tally)


async def test_no_embedded_engine_leaks(tmp_path: Path, say: Callable[[str], None]) -> None:
    """TEN-02, FUS-11: filters of any type over nine indexes of each engine."""
    filters, tally = drawn(FILTERS, 60), Tally()
    for kind in EMBEDDED:
        builder, engines = index_builder(kind), {}
        for number, place in enumerate(PLACES):
            folder = tmp_path / kind.value / str(number)
            folder.mkdir(parents=True)
            assert builder.build(folder, *place, iter(contents(place))) == CHUNKS
            engines[place] = await builder.open(folder)
        await search_all(engines, filters, 5, tally)
        for engine in engines.values():
            await engine.close()
    say(f"embedded engines: {tally}")
    assert (tally.leaks, tally.missing) == ([], 0)
    assert tally.searches >= 2_000
    assert tally.hits > 5 * len(PLACES) * len(EMBEDDED) * len(filters)


@pytest.fixture
def shim() -> Iterator[QdrantShim]:
    shim = QdrantShim(EdgeStore).start()
    yield shim
    shim.stop()


async def leaks_of(backend: ServerBackend, filters: list[Filter]) -> Tally:
    """Two generations of every place on one server, the live one searched."""
    tally, engines = Tally(), {}
    keys = [IndexKey(*place, generation) for place in PLACES for generation in (OLD, LIVE)]
    try:
        for key in keys:
            place = Place(key.tenant, key.corpus)
            await backend.delete(key)
            await write(backend, key, contents(place, key.generation))
            engines[place] = await backend.open(card_of(backend, key))
        await search_all(engines, filters, 1, tally)
    finally:
        for key in keys:
            await backend.delete(key)
        await backend.close()
    return tally


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
async def test_no_qdrant_in_process_leaks(say: Callable[[str], None]) -> None:
    backend = QdrantServer(AsyncQdrantClient(":memory:"), NAMESPACE, connections=4)
    assert faults("Qdrant's client in process", await leaks_of(backend, drawn(TYPED_FILTERS, 20)), say) == []


@pytest.mark.slow
async def test_no_qdrant_engine_behind_its_client_leaks(shim: QdrantShim, say: Callable[[str], None]) -> None:
    backend = qdrant.connect(ServerSettings(url=shim.url, namespace=NAMESPACE))
    assert faults("Qdrant's engine behind its client", await leaks_of(backend, drawn(TYPED_FILTERS, 20)), say) == []


@pytest.mark.slow
async def test_no_stand_in_of_elasticsearch_leaks(say: Callable[[str], None]) -> None:
    """But for filters that the stand-in itself answers wrong."""
    backend = STAND_IN.connect(ServerSettings(url=STAND_IN.address(), namespace=NAMESPACE))
    filters = drawn(TYPED_FILTERS.filter(answers_right), 10)
    assert faults("a stand-in for Elasticsearch", await leaks_of(backend, filters), say) == []


@pytest.mark.parametrize("server", REAL_SERVERS)
async def test_no_real_keyword_server_leaks(server: KeywordServer, say: Callable[[str], None]) -> None:
    backend = server.connect(ServerSettings(url=server.address(), namespace=NAMESPACE))
    assert faults(f"real {server.version}", await leaks_of(backend, drawn(TYPED_FILTERS, 40)), say) == []


@pytest.mark.engine
@pytest.mark.parametrize("release", SHARED_RELEASES, ids=label)
async def test_no_real_neo4j_leaks(release: Neo4jRelease, say: Callable[[str], None]) -> None:
    backend = neo4j.connect(replace(neo4j_settings(release), namespace=NAMESPACE))
    assert faults(f"real Neo4j {label(release)}", await leaks_of(backend, drawn(TYPED_FILTERS, 10)), say) == []


def faults(name: str, tally: Tally, say: Callable[[str], None]) -> list[str]:
    """Prints the tally; what is wrong with it, in words."""
    say(f"{name}: {tally}")
    found = [f"leak: {leak}" for leak in tally.leaks]
    if tally.missing:
        found.append(f"{tally.missing} hits are missing")
    if tally.hits <= tally.searches:
        found.append("too few hits to prove anything")
    return found
