"""The texts of one corpus generation in one SQLite file: what answers show, and all that is needed to index again.

In: chunks. Out: texts by chunk id, or the chunks themselves in the order of their ids, with their vectors. A finished
file is opened read-only and never changes.
"""

import hashlib
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Final

from fanfuse_backend_workers.ports import InvalidChunkError, SearchError
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind
from fanfuse_contracts.retrieval import ChunkText

_SCHEMA: Final = """CREATE TABLE chunks (
    chunk_id TEXT PRIMARY KEY, text TEXT NOT NULL, source TEXT NOT NULL, record TEXT NOT NULL, vector BLOB
)"""
_INSERT: Final = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?)"
_ALL: Final = "SELECT record, text, vector FROM chunks ORDER BY chunk_id LIMIT -1 OFFSET ?"
_IDS_PER_STATEMENT: Final = 500


class DuplicateChunkError(InvalidChunkError):
    """Two chunks of one corpus have the same id."""


def write_texts(path: Path, chunks: Iterable[Chunk]) -> int:
    """Write a new file; returns the number of chunks. Raises `DuplicateChunkError`. Blocking."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(_SCHEMA)
        for chunk in chunks:
            _insert(database, chunk)
        return int(database.execute("SELECT count(*) FROM chunks").fetchone()[0])


def read_texts(path: Path, skip: int = 0) -> Iterator[Chunk]:
    """Every chunk but the first `skip`, in the order of the ids, with its vector; raises `SearchError(NOT_FOUND)`."""
    with closing(_open(path)) as database:
        for record, text, vector in database.execute(_ALL, (skip,)):
            stored = {"text": text, "vector": None if vector is None else tuple(array("f", vector))}
            yield Chunk.model_validate_json(record).model_copy(update=stored)


def digest_texts(path: Path) -> str:
    """SHA-256 over every chunk with its vector: equal for equal contents, however they came in. Blocking."""
    digest = hashlib.sha256()
    with closing(_open(path)) as database:
        for row in database.execute(_ALL, (0,)):
            for part in row:
                data = b"" if part is None else part if isinstance(part, bytes) else part.encode()
                digest.update(len(data).to_bytes(8) + data)
    return digest.hexdigest()


class SqliteTexts:
    """Texts of one corpus, opened for reading; safe for threads."""

    def __init__(self, path: Path) -> None:
        self._database = _open(path)
        self._lock = Lock()

    def get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        """The chunks that exist, in any order; an id that is not returned does not exist."""
        found: list[ChunkText] = []
        for start in range(0, len(chunk_ids), _IDS_PER_STATEMENT):
            found += self._get(chunk_ids[start : start + _IDS_PER_STATEMENT])
        return found

    def _get(self, chunk_ids: Sequence[str]) -> list[ChunkText]:
        marks = ",".join("?" * len(chunk_ids))
        statement = f"SELECT chunk_id, text, source FROM chunks WHERE chunk_id IN ({marks})"
        with self._lock:
            rows = self._database.execute(statement, tuple(chunk_ids)).fetchall()
        return [ChunkText(chunk_id=chunk_id, text=text, source=source) for chunk_id, text, source in rows]

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._database.close()


def _insert(database: sqlite3.Connection, chunk: Chunk) -> None:
    # The record keeps a placeholder for its text, which has a column of its own.
    record = chunk.model_copy(update={"text": "-", "vector": None}).model_dump_json()
    vector = None if chunk.vector is None else array("f", chunk.vector).tobytes()
    try:
        database.execute(_INSERT, (chunk.chunk_id, chunk.text, chunk.source, record, vector))
    except sqlite3.IntegrityError as error:
        raise DuplicateChunkError(f"two chunks have the id {chunk.chunk_id!r}: ids are unique in a corpus") from error


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise SearchError(FailureKind.NOT_FOUND, f"no texts of generation {path.parent.name}: index the corpus")
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
