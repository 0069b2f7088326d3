"""Keyword search in process: BM25 by tantivy over tokens that were analysed here.

Query text never meets a query parser: it becomes term queries. Tenant, corpus and filter are clauses of the engine's
own query that add nothing to the score. Any number of processes may open one index.
"""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import tantivy

from fanfuse_backend_workers.adapters.engine_calls import call_engine
from fanfuse_backend_workers.adapters.filter_values import EXACT_OPERATORS, FieldValues
from fanfuse_backend_workers.adapters.index_manifest import IndexManifest, read_manifest, write_manifest
from fanfuse_backend_workers.adapters.ranking import Scored, best_hits
from fanfuse_backend_workers.adapters.tantivy_queries import keyword_query
from fanfuse_backend_workers.adapters.waiting_rows import Waiting, numbered
from fanfuse_backend_workers.domain.analysis import analyse_query, analyse_text
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchEngine, SearchError, SearchRequest
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind, Kind

_WRITER_HEAP_BYTES: Final = 128 * 1024 * 1024


class TantivyIndexBuilder:
    """Builds and opens keyword indexes."""

    kind = Kind.KEYWORD
    operators = EXACT_OPERATORS

    def build(self, directory: Path, tenant: str, corpus: str, chunks: Iterable[Chunk]) -> int:
        """Write a complete index into an empty directory; returns the number of chunks. Blocking."""
        index = tantivy.Index(_schema(), path=str(directory), reuse=False)
        writer = index.writer(_WRITER_HEAP_BYTES, num_threads=1)
        values = FieldValues()
        for row in numbered(map(_row, chunks), values, directory):
            writer.add_document(_document(tenant, corpus, row.fields, values.tokens(row.numbers)))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        count = int(index.searcher().num_docs)
        manifest = IndexManifest(kind=self.kind, tenant=tenant, corpus=corpus, chunks=count)
        write_manifest(directory, manifest, values)
        return count

    async def open(self, directory: Path) -> SearchEngine:
        """Open an index for reading; raises `SearchError`."""
        manifest, values = read_manifest(directory, self.kind)
        index = tantivy.Index.open(str(directory))
        index.config_reader("manual")
        return TantivyKeywordEngine(index, manifest, values)


class TantivyKeywordEngine:
    """One corpus, opened for reading."""

    kind = Kind.KEYWORD
    operators = EXACT_OPERATORS

    def __init__(self, index: tantivy.Index, manifest: IndexManifest, values: FieldValues) -> None:
        self._schema = index.schema
        self._searcher: tantivy.Searcher | None = index.searcher()
        self._manifest = manifest
        self._values = values

    async def search(self, request: SearchRequest) -> EngineResult:
        """BM25 over the words of `request.text`; blank text, punctuation and stop words have no hit."""
        return await call_engine(partial(self._search, request), request.timeout_s, _ERRORS)

    def _search(self, request: SearchRequest) -> EngineResult:
        searcher = self._open_searcher()
        terms = analyse_query(request.text, request.identifiers)
        if terms.empty:
            return EngineResult(())
        condition = None if request.filter is None else self._values.compile(request.filter)
        query = keyword_query(self._schema, searcher, terms, (request.tenant, request.corpus), condition)
        return best_hits(partial(_found, searcher, query), partial(_hits, searcher), request.window)

    async def count(self) -> int:
        """Chunks in the index."""
        return int(self._open_searcher().num_docs)

    async def close(self) -> None:
        """Release the files; a search that runs keeps them until it ends."""
        self._searcher = None

    def _open_searcher(self) -> tantivy.Searcher:
        if self._searcher is None:
            raise SearchError(FailureKind.UNAVAILABLE, "the keyword index is closed")
        return self._searcher


_ERRORS = (ValueError, OSError, RuntimeError)


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for scored in ("words", "wholes"):
        builder.add_text_field(scored, tokenizer_name="whitespace", index_option="position")
    for matched in ("tenant", "corpus", "values"):
        builder.add_text_field(matched, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("hit", stored=True, indexed=False)
    return builder.build()


def _row(chunk: Chunk) -> Waiting:
    analysed = analyse_text(f"{chunk.title} {chunk.text}")
    scored = {"words": " ".join(analysed.words), "wholes": " ".join(analysed.wholes)}
    return Waiting({**scored, "hit": [chunk.chunk_id, chunk.content_hash, chunk.title]}, chunk.metadata)


def _document(tenant: str, corpus: str, fields: dict[str, Any], tokens: Iterable[str]) -> tantivy.Document:
    document = tantivy.Document()
    document.add_text("words", fields["words"])
    document.add_text("wholes", fields["wholes"])
    document.add_text("tenant", tenant)
    document.add_text("corpus", corpus)
    for token in tokens:
        document.add_text("values", token)
    document.add_bytes("hit", json.dumps(fields["hit"]).encode())
    return document


def _found(searcher: tantivy.Searcher, query: tantivy.Query, limit: int) -> list[Scored[tantivy.DocAddress]]:
    return list(searcher.search(query, limit, count=False).hits)


def _hits(searcher: tantivy.Searcher, found: Sequence[Scored[tantivy.DocAddress]]) -> list[EngineHit]:
    return [_hit(searcher.doc(address), score or 0.0) for score, address in found]


def _hit(document: tantivy.Document, score: float) -> EngineHit:
    chunk_id, content_hash, title = json.loads(bytes(document["hit"][0]))
    return EngineHit(chunk_id, score, content_hash, title)
