"""Remembers the vectors of documents on disk, so that indexing again embeds only new text.

In: an embedder. Out: the same embedder, faster. A vector is known by (model, SHA-256 of the text); the file is bounded
and forgets what came first. A file that is lost costs time, nothing else.
"""

import hashlib
import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Final, Protocol, runtime_checkable

from fanfuse_backend_workers.ports import Embedder

MAX_STORED: Final = 500_000
_KEYS_PER_STATEMENT: Final = 500
_SCHEMA: Final = """CREATE TABLE IF NOT EXISTS vectors (
    number INTEGER PRIMARY KEY, model TEXT NOT NULL, text_hash BLOB NOT NULL, vector BLOB NOT NULL,
    UNIQUE (model, text_hash)
)"""
_BUSY_S: Final = 30.0


class EmbeddingCache:
    """Vectors in one SQLite file, as 32-bit floats; several processes may share it."""

    def __init__(self, path: Path, max_stored: int = MAX_STORED) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=_BUSY_S, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(_SCHEMA)
        self._max_stored = max_stored
        self._lock = Lock()

    def get(self, model: str, texts: Sequence[str]) -> dict[str, list[float]]:
        """The known vectors, by text."""
        by_hash = {_hash(text): text for text in texts}
        hashes = list(by_hash)
        found: dict[str, list[float]] = {}
        with self._lock:
            for start in range(0, len(hashes), _KEYS_PER_STATEMENT):
                part = hashes[start : start + _KEYS_PER_STATEMENT]
                marks = ",".join("?" * len(part))
                statement = f"SELECT text_hash, vector FROM vectors WHERE model = ? AND text_hash IN ({marks})"
                for text_hash, vector in self._database.execute(statement, (model, *part)):
                    found[by_hash[text_hash]] = list(array("f", vector))
        return found

    def put(self, model: str, vectors: Mapping[str, Iterable[float]]) -> None:
        """Remember vectors, by text; the oldest go when there are too many."""
        rows = [(model, _hash(text), array("f", vector).tobytes()) for text, vector in vectors.items()]
        with self._lock, self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO vectors (model, text_hash, vector) VALUES (?, ?, ?)", rows
            )
            self._database.execute(
                "DELETE FROM vectors WHERE number <= (SELECT max(number) FROM vectors) - ?", (self._max_stored,)
            )

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._database.close()


@runtime_checkable
class _OfASpace(Protocol):
    space: str
    """What its documents' vectors depend on, where that is more than the model."""


class CachedEmbedder:
    """An embedder that looks for documents in the cache first."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self.model = embedder.model
        self.dimensions = embedder.dimensions
        self.languages = embedder.languages
        self._embedder = embedder
        self._cache = cache
        self._space = embedder.space if isinstance(embedder, _OfASpace) else embedder.model

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text; only texts never seen are embedded."""
        known = self._cache.get(self._space, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            made = dict(zip(new, self._embedder.embed_documents(new), strict=True))
            self._cache.put(self._space, made)
            known |= made
        return [known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query; those are remembered by whoever asks."""
        return self._embedder.embed_query(text)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
