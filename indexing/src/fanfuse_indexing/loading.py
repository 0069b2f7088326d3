"""A path to chunks and a report. In: a file or folder and, if given, a gazetteer and vectors. Out: an iterator of
chunks in a stable order with unique ids, and a `LoadReport`. Holds one document at a time; writes nothing.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fanfuse_contracts.chunks import Chunk
from fanfuse_indexing.chunking import SYMBOL_KIND, chunks_of, is_whole
from fanfuse_indexing.documents import Document
from fanfuse_indexing.entities import Gazetteer
from fanfuse_indexing.fields import FieldTypes
from fanfuse_indexing.files import source_files
from fanfuse_indexing.formats import Format
from fanfuse_indexing.reading import read_documents
from fanfuse_indexing.report import Code, Ledger, LoadReport
from fanfuse_indexing.vectors import read_vectors


class Loading:
    """One run over a source. Iterate it once for the chunks; `report` is true at any time and final at the end.

    `vectors`: a .npz file, see `fanfuse_indexing.vectors`. Raises `OSError` when nothing can be read at `path` and
    `VectorsError` when the vectors cannot be used; whatever else is wrong with a source is in the report.
    """

    def __init__(self, path: Path, *, gazetteer: Gazetteer | None = None, vectors: Path | None = None) -> None:
        path.stat()
        self._path = path
        self._gazetteer = gazetteer
        self._vectors = read_vectors(vectors) if vectors else None
        self._dimensions = 0
        self._ledger = Ledger()
        self._fields = FieldTypes()
        self._seen: set[int] = set()

    @property
    def report(self) -> LoadReport:
        """The totals so far, and everything left out so far."""
        return self._ledger.report(self._fields.types)

    @property
    def bytes_read(self) -> int:
        """Progress: bytes of files read so far, see `total_bytes`."""
        return self._ledger.bytes_read

    def total_bytes(self) -> int:
        """Bytes that a full run reads: a walk over names and sizes, no reading."""
        return sum(file.size for file in source_files(self._path, Ledger()))

    def __iter__(self) -> Iterator[Chunk]:
        for document in map(self._with_vector, read_documents(self._path, self._ledger)):
            chunks = list(chunks_of(document, self._gazetteer))
            if self._admits(document, chunks):
                yield from self._counted(document, chunks)
        if self._vectors and self._vectors.unused:
            reason = f"{self._vectors.unused} vectors belong to no document"
            self._ledger.notice(str(self._path), None, Code.UNUSED_VECTORS, reason)

    def _with_vector(self, document: Document) -> Document:
        """The document with its precomputed vector: its own, else the one from the file."""
        vector = document.vector
        if vector is None and self._vectors:
            vector = self._vectors.get(document.document_id)
            if vector is None:
                self._note(document, Code.NO_VECTOR, "no precomputed vector: it is embedded at indexing")
        if vector is None:
            return document
        self._dimensions = self._dimensions or len(vector)
        if len(vector) != self._dimensions or not 0.0 < math.hypot(*vector) < math.inf:
            self._note(document, Code.BAD_VECTOR, f"its vector is not {self._dimensions} finite numbers: left out")
            vector = None
        return replace(document, vector=vector)

    def _admits(self, document: Document, chunks: list[Chunk]) -> bool:
        """Refuse a document without chunks, and one whose id or chunk ids were met before."""
        if not chunks:
            self._ledger.skip(document.source, document.line, Code.NO_TEXT, "there is no text in it")
            return False
        keys = {_key(name) for name in (document.document_id, *(chunk.chunk_id for chunk in chunks))}
        if not keys.isdisjoint(self._seen):
            reason = f"the id {document.document_id!r} is taken by an earlier document"
            self._ledger.skip(document.source, document.line, Code.DUPLICATE_ID, reason)
            return False
        self._seen |= keys
        return True

    def _counted(self, document: Document, chunks: list[Chunk]) -> Iterator[Chunk]:
        if document.format is Format.JSONL and not is_whole(document):
            self._note(document, Code.SPLIT, f"{len(document.text):,} characters: split into {len(chunks)} chunks")
        if document.format is Format.PYTHON and SYMBOL_KIND not in chunks[0].metadata:
            self._note(document, Code.NOT_PARSED, "no docstring, class or function can be read: loaded as plain text")
        self._ledger.loaded += 1
        for chunk in chunks:
            for name, reason in self._fields.observe(chunk.metadata):
                self._note(document, Code.MIXED_TYPES, f"field {name!r} is not offered as filterable: {reason}")
            self._ledger.chunks += 1
            yield chunk

    def _note(self, document: Document, code: Code, reason: str) -> None:
        self._ledger.notice(document.source, document.line, code, reason)


def _key(name: str) -> int:
    """64 bits of a hash: ids need 8 bytes each to be remembered, whatever their length."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")
