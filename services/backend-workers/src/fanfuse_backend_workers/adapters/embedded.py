"""The embedded engines of this worker, chosen by kind, over the index generations in a data directory.

In: a data directory and cards. Out: builders, opened engines and opened texts. An engine's library is imported only
when its kind is asked for, so a worker of one kind needs no other kind's library.
"""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from fanfuse_backend_workers.adapters.sqlite_texts import SqliteTexts
from fanfuse_backend_workers.generations import CorpusName, generation_folder, open_texts
from fanfuse_backend_workers.ports import IndexBuilder, OpenEngine, OpenTexts, SearchEngine, SearchError, TextStore
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.retrieval import ChunkText

_BUILDERS: Final = {
    Kind.VECTOR: ("qdrant_vector", "QdrantIndexBuilder"),
    Kind.KEYWORD: ("tantivy_keyword", "TantivyIndexBuilder"),
    Kind.GRAPH: ("kglite_index", "KgliteIndexBuilder"),
}


@runtime_checkable
class _OfOneSize(Protocol):
    def check_dimensions(self, wanted: int) -> None: ...


def index_builder(kind: Kind) -> IndexBuilder:
    """The embedded engine of a kind."""
    module, name = _BUILDERS[kind]
    builder: IndexBuilder = getattr(import_module(f"{__package__}.{module}"), name)()
    return builder


def engines_in(data: Path) -> OpenEngine:
    """Opens the generation a card names; raises CONFIG where its vectors are not of the card's size."""

    async def open_engine(card: CorpusCard, wiring: Wiring) -> SearchEngine:
        folder = generation_folder(data, _name(card), wiring.kind.value, _generation(card))
        engine = await index_builder(wiring.kind).open(folder)
        try:
            if isinstance(engine, _OfOneSize) and card.embedder is not None:
                engine.check_dimensions(card.embedder.dimensions)
        except SearchError:
            await engine.close()
            raise
        return engine

    return open_engine


def texts_in(data: Path) -> OpenTexts:
    """Opens the texts of the generation a card names."""

    async def open_card_texts(card: CorpusCard) -> TextStore:
        return _ThreadedTexts(await asyncio.to_thread(open_texts, data, _name(card), _generation(card)))

    return open_card_texts


class _ThreadedTexts:
    """`TextStore` over a file."""

    def __init__(self, texts: SqliteTexts) -> None:
        self._texts = texts

    async def get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        return await asyncio.to_thread(self._texts.get, chunk_ids)

    async def close(self) -> None:
        await asyncio.to_thread(self._texts.close)


def _name(card: CorpusCard) -> CorpusName:
    return CorpusName(card.tenant, card.corpus)


def _generation(card: CorpusCard) -> str:
    if card.generation is None:
        raise SearchError(FailureKind.NOT_FOUND, f"corpus {card.corpus!r} has no index here")
    return card.generation
