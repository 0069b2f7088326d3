"""Collections of a Qdrant server: their names, what does not fit them, and who they belong to."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, models

from fanfuse_backend_workers.adapters.qdrant import connect
from fanfuse_backend_workers.adapters.qdrant_server_collections import alias_name, collection_name
from fanfuse_backend_workers.adapters.qdrant_server_points import generation_point_id, point_id
from fanfuse_backend_workers.ports import SearchError, SearchRequest
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerBackend, ServerSettings
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import EmbedderSpec, FieldType
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_testing.engine_suite import chunk, request
from fanfuse_testing.server_case import EMBEDDER, SHAPE, card_of, found, write
from fanfuse_testing.typed_filters import FIELDS
from tests.servers.qdrant import QdrantShim
from tests.servers.qdrant_edge import EdgeStore

KEY = IndexKey("acme", "docs", "g1")
NAME = "fanfuse.suite-model-4-v1"
WIDE = EmbedderSpec(model="wide-model", dimensions=8)


@pytest.fixture
def shim() -> Iterator[QdrantShim]:
    shim = QdrantShim(EdgeStore).start()
    yield shim
    shim.stop()


@pytest.fixture
async def backend(shim: QdrantShim) -> AsyncIterator[ServerBackend]:
    backend = connect(ServerSettings(url=shim.url))
    yield backend
    await backend.close()


@pytest.fixture
async def raw(shim: QdrantShim) -> AsyncIterator[AsyncQdrantClient]:
    """What somebody else may do with the same server."""
    client = AsyncQdrantClient(url=shim.url, check_compatibility=False)
    yield client
    await client.close()


async def refused(call: Any, kind: FailureKind) -> str:
    with pytest.raises(SearchError) as raised:
        await call
    assert raised.value.kind is kind
    return raised.value.message


def test_a_collection_has_the_name_of_namespace_model_size_and_format() -> None:
    assert collection_name("fanfuse", EMBEDDER) == NAME
    assert alias_name("fanfuse", EMBEDDER) == "fanfuse.suite-model-4"


def test_models_and_namespaces_that_look_alike_share_no_collection() -> None:
    models_ = ("a/b", "a-b", "A-B", "a b", "a.b", "a-b-4", "模型", "x" * 128, "x" * 127)
    named = {collection_name("n", EmbedderSpec(model=model, dimensions=size)) for model in models_ for size in (4, 44)}
    assert len(named) == 2 * len(models_)
    assert all(len(name) < 200 for name in named)
    assert not collection_name("a-b", EMBEDDER).startswith("a.")


async def test_what_is_made_says_what_made_it_and_is_indexed(backend: ServerBackend, raw: AsyncQdrantClient) -> None:
    await backend.ensure(KEY, SHAPE)
    info = await raw.get_collection(NAME)
    assert info.config.metadata == {"model": "suite-model"}
    assert isinstance(info.config.params.vectors, dict)
    assert info.config.params.vectors["dense"].size == 4
    paths = {path: index.data_type.value for path, index in info.payload_schema.items()}
    assert {path for path, kind in paths.items() if kind == "keyword"} == {
        *("tenant", "corpus", "generation", "generation_of", "marks"),
        *("m.lang", "m.tags", "m.mixed"),
    }
    assert {"n.year", "r.year", "n.score", "o.lang.a", "o.lang.d"} <= {
        p for p, kind in paths.items() if kind == "float"
    }
    assert info.payload_schema["tenant"].params.is_tenant  # type: ignore[union-attr]


async def test_making_again_makes_nothing_again(shim: QdrantShim, backend: ServerBackend) -> None:
    """A field more is an index more."""
    await backend.ensure(KEY, SHAPE)
    shim.seen.clear()
    more = IndexShape({**FIELDS, "mixed": FieldType.STRING, "price": FieldType.FLOAT}, EMBEDDER)
    await backend.ensure(KEY._replace(corpus="other"), more)
    made = [call.path for call in shim.seen if call.method == "PUT"]
    assert made == [f"/collections/{NAME}/index"] * 2 + [f"/collections/{NAME}/points"]


async def test_a_collection_of_another_size_is_named_with_both_sizes(
    backend: ServerBackend, raw: AsyncQdrantClient
) -> None:
    """QDR-01: somebody made the collection by hand."""
    vectors = {"dense": models.VectorParams(size=768, distance=models.Distance.COSINE)}
    await raw.create_collection(NAME, vectors_config=vectors)
    message = await refused(backend.ensure(KEY, SHAPE), FailureKind.CONFIG)
    assert NAME in message
    assert "768" in message
    assert "4 dimensions by suite-model" in message
    assert (await raw.get_collection(NAME)).points_count == 0


@pytest.mark.parametrize(
    ("vectors", "metadata", "named"),
    [
        (
            {"other": models.VectorParams(size=4, distance=models.Distance.COSINE)},
            {},
            "no cosine vectors named 'dense'",
        ),
        ({"dense": models.VectorParams(size=4, distance=models.Distance.COSINE)}, {"model": "another"}, "by another"),
    ],
)
async def test_a_collection_made_for_something_else_is_refused(
    backend: ServerBackend, raw: AsyncQdrantClient, vectors: dict[str, Any], metadata: dict[str, str], named: str
) -> None:
    """QDR-01."""
    await raw.create_collection(NAME, vectors_config=vectors, metadata=metadata)
    message = await refused(backend.ensure(KEY, SHAPE), FailureKind.CONFIG)
    assert NAME in message
    assert named in message


async def test_a_card_with_another_embedder_opens_nothing(shim: QdrantShim, backend: ServerBackend) -> None:
    """QDR-01: before any query, with collection and both sizes; nothing is deleted or made anew on the way."""
    await write(backend, KEY, [chunk("c1")])
    shim.seen.clear()
    card = card_of(backend, KEY).model_copy(update={"embedder": WIDE})
    message = await refused(backend.open(card), FailureKind.CONFIG)
    assert NAME in message
    assert "4 dimensions by suite-model, not 8 dimensions by wide-model" in message
    assert {call.method for call in shim.seen} == {"GET", "POST"}
    engine = await backend.open(card_of(backend, KEY))
    assert await found(engine, request()) == ["c1"]


async def test_a_generation_has_one_embedder(backend: ServerBackend) -> None:
    """Resuming a run with another embedder would split it over two collections."""
    await write(backend, KEY, [chunk("c1")])
    message = await refused(backend.ensure(KEY, IndexShape({}, WIDE)), FailureKind.CONFIG)
    assert NAME in message
    await refused(backend.ensure(KEY._replace(generation="g2"), IndexShape({})), FailureKind.CONFIG)


@pytest.mark.parametrize(
    ("vector", "kind"),
    [
        ((1.0, 0.0), FailureKind.CONFIG),
        ((1.0,) * 8, FailureKind.CONFIG),
        ((), FailureKind.EMBEDDER),
        (None, FailureKind.EMBEDDER),
        ((0.0,) * 4, FailureKind.BAD_REQUEST),
        ((float("nan"), 1.0, 0.0, 0.0), FailureKind.BAD_REQUEST),
        ((float("inf"), 1.0, 0.0, 0.0), FailureKind.BAD_REQUEST),
    ],
)
async def test_a_query_vector_that_can_not_be_searched_is_never_sent(
    shim: QdrantShim, backend: ServerBackend, vector: tuple[float, ...] | None, kind: FailureKind
) -> None:
    """QDR-01, QDR-05: size 0 is no size, and a zero vector has no nearest."""
    await write(backend, KEY, [chunk("c1")])
    engine = await backend.open(card_of(backend, KEY))
    shim.seen.clear()
    message = await refused(engine.search(SearchRequest("acme", "docs", "", 10, 5.0, vector=vector)), kind)
    assert shim.seen == []
    assert (NAME in message and "of 4 dimensions" in message) is (kind is FailureKind.CONFIG)


def bad(**change: Any) -> Chunk:
    return Chunk.model_construct(**{**chunk("bad").model_dump(), **change})


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (bad(vector=None), "no vector"),
        (bad(vector=(1.0, 2.0)), "2 dimensions, its collection 4"),
        (bad(vector=(0.0,) * 4), "direction"),
        (bad(vector=(float("nan"),) * 4), "direction"),
        (bad(metadata={"size": 2**63}), "'size'.*64 bits"),
        (bad(metadata={"size": -(2**2000)}), "'size'.*64 bits"),
        (bad(metadata={"size": float("inf")}), "'size'.*not finite"),
    ],
)
async def test_a_chunk_that_can_not_be_stored_is_named_and_its_batch_is_not_written(
    backend: ServerBackend, broken: Chunk, named: str
) -> None:
    await write(backend, KEY, [])
    with pytest.raises(SearchError, match=f"'bad'.*{named}") as raised:
        await backend.upsert(KEY, [chunk("good"), broken])
    assert raised.value.kind is FailureKind.BAD_REQUEST
    assert await backend.count(KEY) == 0


def test_no_two_chunks_and_no_chunk_and_its_generation_share_a_point() -> None:
    """QDR-02: UUIDv5 of tenant, corpus, generation and chunk id."""
    keys = [KEY, KEY._replace(tenant="globex"), KEY._replace(corpus="docs1"), KEY._replace(generation="g2")]
    names = ["7-2", "legal/handbook.md#3", "-1", str(2**64)]
    ids = {point_id(key, name) for key in keys for name in names} | {generation_point_id(key) for key in keys}
    assert len(ids) == len(keys) * (len(names) + 1)
    assert point_id(KEY, "7-2") == point_id(IndexKey(*KEY), "7-2")


async def test_installations_on_one_server_do_not_see_each_other(shim: QdrantShim, backend: ServerBackend) -> None:
    """`a` and `a-b` are two namespaces, whatever their collections are called."""
    await write(backend, KEY, [chunk("ours")])
    longer = connect(ServerSettings(url=shim.url, namespace="fanfuse-b"))
    await write(longer, KEY._replace(generation="g2"), [chunk("theirs")])
    assert await backend.generations("acme", "docs") == ("g1",)
    assert await longer.generations("acme", "docs") == ("g2",)
    assert await longer.delete(KEY) == 0
    assert await backend.count(KEY) == 1
    await longer.close()


async def test_the_alias_follows_the_format(backend: ServerBackend, raw: AsyncQdrantClient) -> None:
    """One that points elsewhere, as after a new format, is moved; it is set once, not at every run."""
    await write(backend, KEY, [])
    assert (await raw.get_aliases()).aliases == []
    vectors = {"dense": models.VectorParams(size=4, distance=models.Distance.COSINE)}
    await raw.create_collection("fanfuse.suite-model-4-v0", vectors_config=vectors)
    alias = models.CreateAlias(collection_name="fanfuse.suite-model-4-v0", alias_name="fanfuse.suite-model-4")
    await raw.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
    for _ in range(2):
        await backend.publish(KEY)
        (held,) = (await raw.get_aliases()).aliases
        assert (held.alias_name, held.collection_name) == ("fanfuse.suite-model-4", NAME)


async def test_five_megabytes_are_several_requests(shim: QdrantShim, backend: ServerBackend) -> None:
    await backend.ensure(KEY, SHAPE)
    shim.seen.clear()
    await backend.upsert(KEY, [chunk(f"c{number}").model_copy(update={"text": "x" * 90_000}) for number in range(100)])
    sizes = [len(call.body) for call in shim.seen if call.method == "PUT"]
    assert len(sizes) == 2
    assert max(sizes) < 5_100_000
    assert await backend.count(KEY) == 100


@pytest.mark.parametrize("name", ["lang=s:de", "lang", "lang[]", "lang~:de", "x.y", "lang.a"])
async def test_a_fields_name_is_no_other_fields_value(backend: ServerBackend, name: str) -> None:
    """TEN-02: metadata may be called anything; only what is a field's name can be asked for."""
    odd = chunk("odd").model_copy(update={"metadata": {name: "de"}})
    await write(backend, KEY, [odd, chunk("plain")])
    engine = await backend.open(card_of(backend, KEY))
    for op, value in ((Op.EQ, "de"), (Op.CONTAINS, "de"), (Op.EXISTS, True), (Op.LTE, "de")):
        condition = Leaf(field="lang", op=op, value=value)
        assert await found(engine, request(condition=condition)) == (["odd"] if name == "lang" else [])
