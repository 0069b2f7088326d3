"""Embedded engines by kind: a worker needs only its own libraries, and a card must fit its index."""

import subprocess
import sys
from pathlib import Path

import pytest

from fanfuse_backend_workers.adapters.embedded import engines_in, index_builder, texts_in
from fanfuse_backend_workers.generations import CorpusName, build_generation
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import FailureKind, Kind

LIBRARIES = {
    Kind.VECTOR: {"qdrant_edge", "numpy", "onnxruntime", "tokenizers"},
    Kind.KEYWORD: {"tantivy", "Stemmer"},
    Kind.GRAPH: {"kglite"},
}
IMPORT = """
import sys
for library in sys.argv[2:]:
    sys.modules[library] = None
from fanfuse_backend_workers.adapters.embedded import index_builder
from fanfuse_contracts.enums import Kind
print(index_builder(Kind(sys.argv[1])).kind)
"""
CARD = CorpusCard(tenant="acme", corpus="docs", generation="g1")


@pytest.mark.parametrize("kind", list(Kind))
def test_a_worker_of_one_kind_needs_no_library_of_another(kind: Kind) -> None:
    absent = sorted(set().union(*LIBRARIES.values()) - LIBRARIES[kind])
    run = subprocess.run(
        [sys.executable, "-c", IMPORT, kind.value, *absent], capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.stderr) == (kind.value, "")


async def test_a_card_with_another_size_of_vectors_is_not_opened(tmp_path: Path) -> None:
    """QDR-01: found out when the corpus is opened, before any query."""
    chunk = Chunk(chunk_id="c", text="t", content_hash="0", vector=(1.0, 0.0))
    build_generation(tmp_path, CorpusName("acme", "docs"), "g1", [chunk], [index_builder(Kind.VECTOR)])
    wiring = Wiring(kind=Kind.VECTOR, backend="main", pool="main")
    card = CARD.model_copy(update={"embedder": EmbedderSpec(model="other", dimensions=768)})
    with pytest.raises(SearchError, match=r"acme/docs.*2 dimensions.*768") as error:
        await engines_in(tmp_path)(card, wiring)
    assert error.value.kind is FailureKind.CONFIG
    fits = CARD.model_copy(update={"embedder": EmbedderSpec(model="other", dimensions=2)})
    engine = await engines_in(tmp_path)(fits, wiring)
    assert await engine.count() == 1
    await engine.close()


@pytest.mark.parametrize("generation", [None, "g2"])
async def test_a_corpus_without_an_index_here_is_not_found(tmp_path: Path, generation: str | None) -> None:
    card = CARD.model_copy(update={"generation": generation})
    wiring = Wiring(kind=Kind.KEYWORD, backend="main", pool="main")
    for opening in (engines_in(tmp_path)(card, wiring), texts_in(tmp_path)(card)):
        with pytest.raises(SearchError) as error:
            await opening
        assert error.value.kind is FailureKind.NOT_FOUND
