"""The unit that is indexed and retrieved: what loading and chunking produce and every index is built from."""

import hashlib
from typing import Annotated

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from fanfuse_contracts import limits
from fanfuse_contracts.base import FiniteFloat, Model
from fanfuse_contracts.retrieval import ChunkId

MetadataValue = StrictBool | StrictInt | StrictFloat | StrictStr | tuple[StrictStr, ...]


def content_hash(title: str, text: str) -> str:
    """16 hex digits over what a person reads: equal content in two corpora has one hash."""
    return hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16]


class Triple(Model):
    """A typed relation between two entities, by name, such as ("pathlib.Path", "HAS_METHOD", "Path.open")."""

    subject: Annotated[str, Field(min_length=1, max_length=512)]
    relation: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
    object: Annotated[str, Field(min_length=1, max_length=512)]


class Chunk(Model):
    """One chunk of one corpus. `chunk_id` is unique within its corpus and stable over re-runs."""

    chunk_id: ChunkId
    text: Annotated[str, Field(min_length=1)]
    title: Annotated[str, Field(max_length=limits.MAX_TITLE_CHARS)] = ""
    source: str = ""
    """Path, URL or document id the chunk came from."""
    document_id: str = ""
    """Id of the document it was cut from: `delete --id` takes either."""
    content_hash: str
    """16 hex digits of SHA-256 over title and text: equal in every corpus that holds the same content."""
    metadata: dict[str, MetadataValue] = {}
    entities: tuple[str, ...] = ()
    """Names this chunk mentions: MENTIONS edges of the graph."""
    triples: tuple[Triple, ...] = ()
    vector: tuple[FiniteFloat, ...] | None = None
    """Precomputed by the caller; None: embedded at indexing."""
