"""Chunks as documents, and the batches they are sent in.

In: chunks. Out: lines of the bulk API, at most 1 MB a batch. A document's `_id` is a hash: chunk ids may be longer than
the 512 bytes an `_id` may have.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from fanfuse_backend_workers.adapters.lucene_failures import ServerError
from fanfuse_backend_workers.adapters.lucene_filters import MAX_LONG, MIN_LONG, double_term
from fanfuse_backend_workers.domain.analysis import analyse_text
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_contracts.chunks import Chunk, MetadataValue
from fanfuse_contracts.enums import FailureKind

MAX_BATCH_BYTES: Final = 1_000_000
"""Far below what servers take; sending more at once would hold the event loop."""
MAX_KEYWORD_BYTES: Final = 32_766
"""Lucene refuses longer terms."""


class Line(NamedTuple):
    """One action of a batch, on one chunk."""

    chunk_id: str
    data: bytes


def document_id(chunk_id: str) -> str:
    """`_id` of a chunk within the index of its generation."""
    return hashlib.sha256(chunk_id.encode()).hexdigest()


def index_line(key: IndexKey, chunk: Chunk, fields: frozenset[str]) -> Line:
    """Write a chunk, or replace it. Raises `ServerError` for metadata that no server can hold."""
    document = json.dumps(_document(key, chunk, fields), ensure_ascii=False, separators=(",", ":"))
    return Line(chunk.chunk_id, f"{_action('index', chunk.chunk_id)}{document}\n".encode())


def delete_line(chunk_id: str) -> Line:
    """Delete a chunk."""
    return Line(chunk_id, _action("delete", chunk_id).encode())


def batches(lines: Sequence[Line]) -> Iterator[tuple[Line, ...]]:
    """The same lines in their order, in batches of at most `MAX_BATCH_BYTES`; a larger line is alone."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        if batch and size + len(line.data) > MAX_BATCH_BYTES:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(line)
        size += len(line.data)
    if batch:
        yield tuple(batch)


def _action(name: str, chunk_id: str) -> str:
    return f'{{"{name}":{{"_id":"{document_id(chunk_id)}"}}}}\n'


def _document(key: IndexKey, chunk: Chunk, fields: frozenset[str]) -> dict[str, Any]:
    analysed = analyse_text(f"{chunk.title} {chunk.text}")
    filterable = {name: value for name, value in chunk.metadata.items() if name in fields}
    return {
        **key._asdict(),
        "chunk_id": chunk.chunk_id,
        "content_hash": chunk.content_hash,
        "title": chunk.title,
        "text": chunk.text,
        "source": chunk.source,
        "words": " ".join(analysed.words),
        "wholes": " ".join(analysed.wholes),
        "fields": list(filterable),
        "m": {name: _typed(chunk.chunk_id, name, value) for name, value in filterable.items()},
    }


def _typed(chunk_id: str, name: str, value: MetadataValue) -> dict[str, Any]:
    where = f"field {name!r} of chunk {chunk_id!r}"
    match value:
        case bool():
            return {"b": value}
        case int():
            if not MIN_LONG <= value <= MAX_LONG:
                raise ServerError(FailureKind.BAD_REQUEST, f"{where} is no 64-bit integer")
            return {"i": value}
        case float():
            if not math.isfinite(value):
                raise ServerError(FailureKind.BAD_REQUEST, f"{where} is not finite")
            return {"d": double_term(value)}
        case str():
            return {"s": _short(where, value)}
        case _:
            return {"l": [_short(where, member) for member in value]}


def _short(where: str, value: str) -> str:
    if len(value.encode()) > MAX_KEYWORD_BYTES:
        raise ServerError(FailureKind.TOO_LARGE, f"{where} is over {MAX_KEYWORD_BYTES:,} bytes")
    return value
