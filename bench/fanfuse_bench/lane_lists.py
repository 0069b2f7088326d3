"""Ranked lists of real queries, as the embedded keyword engine and the precomputed vectors give them.

In: judged collections. Out: for each query its keyword and vector list, best first, with the engines' own scores. Lists
are kept in a folder for temporary files, so that only the first run pays for the indexes; nothing is embedded.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fanfuse_backend_workers.adapters.embedded import index_builder
from fanfuse_backend_workers.ports import SearchRequest
from fanfuse_contracts import limits
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import Kind
from fanfuse_testing.collections import Collection, load_collection

TENANT: Final = "bench"
Scored = list[tuple[str, float]]
"""Chunk ids with the engine's scores, best first."""
Lists = Mapping[str, Scored]
"""By the key of a query."""


def cache_folder() -> Path:
    """Where lists and profiles are kept between runs."""
    folder = Path(tempfile.gettempdir()) / f"fanfuse-bench-fusion-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def keyword_lists(name: str, collections: Iterable[Collection], texts: Mapping[str, str]) -> Lists:
    """BM25 lists over one index of these collections; ids are `<collection>/<document>`."""
    cached = cache_folder() / f"{name}-keyword.json"
    if not cached.exists():
        _keep(cached, asyncio.run(_search(name, collections, texts)))
    return _kept(cached)


def vector_lists(name: str, collection: Collection, vectors: Mapping[str, NDArray[np.float32]]) -> Lists:
    """Exact cosine lists; ids as above."""
    cached = cache_folder() / f"{name}-vector.json"
    if not cached.exists():
        _keep(cached, dict(_nearest(collection, vectors)))
    return _kept(cached)


def load_all(names: Iterable[str], shared: Path) -> dict[str, Collection]:
    """Collections by name."""
    return {name: load_collection(name, shared) for name in names}


async def _search(name: str, collections: Iterable[Collection], texts: Mapping[str, str]) -> dict[str, Scored]:
    builder = index_builder(Kind.KEYWORD)
    with tempfile.TemporaryDirectory() as folder:
        builder.build(Path(folder), TENANT, name, _chunks(collections))
        engine = await builder.open(Path(folder))
        found = {}
        for key, text in texts.items():
            request = SearchRequest(TENANT, name, text, limits.DEFAULT_WINDOW, 60.0)
            found[key] = [(hit.chunk_id, hit.score) for hit in (await engine.search(request)).hits]
        await engine.close()
    return found


def _chunks(collections: Iterable[Collection]) -> Iterator[Chunk]:
    for collection in collections:
        for document in collection.documents:
            yield Chunk(
                chunk_id=f"{collection.name}/{document.document_id}",
                text=f"{document.title} {document.text}".strip() or "-",
                title=document.title[:200],
                content_hash=document.document_id,
            )


def _nearest(collection: Collection, vectors: Mapping[str, NDArray[np.float32]]) -> Iterator[tuple[str, Scored]]:
    ids = sorted(collection.document_vectors)
    documents = np.stack([collection.document_vectors[one] for one in ids])
    for key, vector in vectors.items():
        scores = documents @ vector
        # Ids are sorted and the sort is stable: ties by chunk id, as the workers rank them.
        best = np.argsort(-scores, kind="stable")[: limits.DEFAULT_WINDOW]
        yield key, [(f"{collection.name}/{ids[at]}", float(scores[at])) for at in best]


def _keep(path: Path, lists: Mapping[str, Scored]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(lists), encoding="utf-8")
    partial.replace(path)


def _kept(path: Path) -> Lists:
    found: Lists = json.loads(path.read_text(encoding="utf-8"))
    return found
