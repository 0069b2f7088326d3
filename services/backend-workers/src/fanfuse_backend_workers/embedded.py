"""The offline default: embedded engines, texts and embedders of the data directory.

In: cards. Out: what the worker's ports ask for. An engine whose package is not installed is a typed failure of its own
pool; a worker imports only the engines it serves.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.generations import CorpusName, generation_folder, open_texts
from fanfuse_backend_workers.ports import (
    Embedder,
    IndexBuilder,
    LoadEmbedder,
    OpenEngine,
    OpenTexts,
    SearchEngine,
    SearchError,
    TextStore,
)
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import FailureKind, Kind


def _vector() -> IndexBuilder:
    from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder

    return QdrantIndexBuilder()


def _keyword() -> IndexBuilder:
    from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder

    return TantivyIndexBuilder()


def _graph() -> IndexBuilder:
    from fanfuse_backend_workers.adapters.kglite_index import KgliteIndexBuilder

    return KgliteIndexBuilder()


_BUILDERS: Final[Mapping[Kind, Callable[[], IndexBuilder]]] = MappingProxyType(
    {Kind.VECTOR: _vector, Kind.KEYWORD: _keyword, Kind.GRAPH: _graph}
)


def embedded_builder(kind: Kind) -> IndexBuilder:
    """Builds and opens indexes of this kind; raises `SearchError(CONFIG)` where its engine is not installed."""
    try:
        return _BUILDERS[kind]()
    except ImportError as error:
        extra = f"fanfuse-backend-workers[{kind.value}]"
        raise SearchError(FailureKind.CONFIG, f"the {kind.value} engine is not installed: add {extra}") from error


def engines_of(data: Path) -> OpenEngine:
    """Opens the generations below a data directory."""

    async def open_engine(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        builder = embedded_builder(wiring.kind)
        folder = generation_folder(data, _name(card), wiring.kind.value, _generation(card))
        return await builder.open(folder)

    return open_engine


def texts_of(data: Path) -> OpenTexts:
    """Opens the texts below a data directory."""

    async def open_texts_of(card: CorpusCard) -> TextStore:
        return await asyncio.to_thread(open_texts, data, _name(card), _generation(card))

    return open_texts_of


def embedders() -> LoadEmbedder:
    """The embedders in this process, one thread of arithmetic each."""

    def load(spec: EmbedderSpec) -> Embedder:
        embedder = build_embedder(spec)
        if embedder is None:
            raise SearchError(FailureKind.BAD_REQUEST, f"{spec.model} does not run here: give a vector")
        return embedder

    return load


def _name(card: CorpusCard) -> CorpusName:
    return CorpusName(card.tenant, card.corpus)


def _generation(card: CorpusCard) -> str:
    if card.generation is None:
        raise SearchError(FailureKind.NOT_FOUND, f"corpus {card.corpus!r} has no index yet: run `fanfuse index`")
    return card.generation
