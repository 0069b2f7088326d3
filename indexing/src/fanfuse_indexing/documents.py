"""The values that pass between reading and chunking: a document as read, and a piece cut from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanfuse_contracts.chunks import MetadataValue, Triple
from fanfuse_indexing.formats import Format

Metadata = Mapping[str, MetadataValue]
Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that belongs together, before it is cut to size. `fragment`: its place in the document, for the id."""

    fragment: str
    title: str
    text: str
    metadata: Metadata = field(default_factory=dict)
    entities: tuple[str, ...] = ()
    triples: tuple[Triple, ...] = ()
    whole: bool = False
    """Cut only over `limits.MAX_WHOLE_CODE_CHARS`."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file, or one record of a JSONL file, decoded and clean: valid Unicode, no NUL, newlines as `\\n`."""

    document_id: str
    title: str
    text: str
    source: str
    format: Format
    line: int | None = None
    """Line of the record in its file, from 1."""
    metadata: Metadata = field(default_factory=dict)
    entities: tuple[str, ...] | None = None
    """None: the input names none, they are extracted from the text."""
    triples: tuple[Triple, ...] = ()
    vector: Vector | None = None
    pieces: tuple[Piece, ...] = ()
    """Cut by its reader, as pages, sections or cells; `text` is then empty."""
