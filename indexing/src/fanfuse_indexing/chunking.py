"""Documents to chunks. In: one document. Out: its chunks, with ids that depend on this document alone.

Ids: a JSONL record that stays whole keeps its own `_id`; else `<document id>#<heading path>`, `…~2` for the second
part of a long section, `<document id>#<n>` where there are no headings. Never reads a file, never drops a non-blank
character of Markdown, reStructuredText, plain text or a record; of Python it keeps names, signatures and docstrings.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from fanfuse_contracts.chunks import Chunk, content_hash
from fanfuse_contracts.limits import MAX_TITLE_CHARS
from fanfuse_indexing import limits
from fanfuse_indexing.documents import Document, Piece
from fanfuse_indexing.entities import Gazetteer, extract_entities
from fanfuse_indexing.formats import Format
from fanfuse_indexing.headings import Section, markdown_sections, rst_sections
from fanfuse_indexing.python_source import parse_python, symbols_of
from fanfuse_indexing.splitting import split_text

_NOT_SLUG = re.compile(r"[^\w\s-]")
_GAPS = re.compile(r"[\s_-]+")
_SOURCE_ROOT = "src"
SYMBOL_KIND = "symbol_kind"
"""Metadata of a chunk that was cut from a Python symbol: `module`, `class`, `function` or `method`."""


def chunks_of(document: Document, gazetteer: Gazetteer | None = None) -> Iterator[Chunk]:
    """The chunks of a document, in order; none if it has no text."""
    if document.format is Format.JSONL:
        yield from _record_chunks(document, gazetteer)
        return
    fragments = Fragments()
    for piece in pieces_of(document):
        fragment = fragments.unique(piece.fragment)
        for number, text in enumerate(_parts(piece), 1):
            place = fragments.part(fragment, number)
            mentioned = (*piece.entities, *extract_entities(text, gazetteer))
            yield Chunk(
                chunk_id=f"{document.document_id}#{place}",
                text=text,
                title=cut_title(piece.title),
                source=document.source,
                document_id=document.document_id,
                content_hash=content_hash(cut_title(piece.title), text),
                metadata={**document.metadata, **piece.metadata},
                entities=tuple(dict.fromkeys(mentioned))[: limits.MAX_ENTITIES],
                triples=piece.triples if number == 1 else (),
            )


def _parts(piece: Piece) -> list[str]:
    return [piece.text] if piece.whole and len(piece.text) <= limits.MAX_WHOLE_CODE_CHARS else split_text(piece.text)


def is_whole(document: Document) -> bool:
    """True if a record is short enough to stay one chunk."""
    return len(document.text) <= limits.MAX_WHOLE_RECORD_CHARS


def pieces_of(document: Document) -> Iterator[Piece]:
    """What belongs together in a file: pages, sections, cells, or the symbols of a Python module."""
    match document.format:
        case _ if document.pieces:
            yield from document.pieces
        case Format.MARKDOWN:
            yield from _section_pieces(document, markdown_sections(document.text))
        case Format.RST:
            yield from _section_pieces(document, rst_sections(document.text))
        case Format.PYTHON:
            yield from _python_pieces(document)
        case _:
            yield Piece("", document.title, document.text)


def _record_chunks(document: Document, gazetteer: Gazetteer | None) -> Iterator[Chunk]:
    texts = [document.text] if is_whole(document) else split_text(document.text)
    for number, text in enumerate(texts, 1):
        yield Chunk(
            chunk_id=document.document_id if len(texts) == 1 else f"{document.document_id}#{number}",
            text=text,
            title=document.title,
            source=document.source,
            document_id=document.document_id,
            content_hash=content_hash(document.title, text),
            metadata=dict(document.metadata),
            entities=_record_entities(document, text, number, gazetteer),
            triples=document.triples if number == 1 else (),
            vector=document.vector if number == 1 else None,
        )


def _record_entities(document: Document, text: str, number: int, gazetteer: Gazetteer | None) -> tuple[str, ...]:
    """Of given entities: those named in this part, and on the first part those named in none."""
    if document.entities is None:
        return extract_entities(f"{document.title}\n{text}", gazetteer)
    return tuple(name for name in document.entities if name in text or (number == 1 and name not in document.text))


def _section_pieces(document: Document, sections: Sequence[Section]) -> Iterator[Piece]:
    for section in sections:
        yield section_piece(section, document.title)


def section_piece(section: Section, title: str) -> Piece:
    """The piece of a section; `title` stands in where no heading is above it."""
    heading = {"heading": cut_title(section.path[-1])} if section.path else {}
    fragment = "/".join(map(slug, section.path))
    return Piece(fragment, " › ".join(section.path) or title, section.text, dict(heading))


def _python_pieces(document: Document) -> Iterator[Piece]:
    tree = parse_python(document.text)
    module = module_name(document.document_id)
    symbols = list(symbols_of(tree, module)) if tree else []
    if not symbols:
        yield Piece("", document.title, document.text)
    for symbol in symbols:
        inner = symbol.name.removeprefix(module).lstrip(".")
        facts = {"module": module, SYMBOL_KIND: symbol.kind.value}
        yield Piece(inner, symbol.name, symbol.text, facts, (symbol.name, *symbol.bases), symbol.triples)


def module_name(path: str) -> str:
    """The dotted name of a module by its path: below the last folder called `src`, if there is one."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if _SOURCE_ROOT in parts[:-1]:
        parts = parts[len(parts) - 1 - parts[::-1].index(_SOURCE_ROOT) + 1 :]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def slug(title: str) -> str:
    """A heading as part of an id: lower-case words of any script joined by '-', as in links on GitHub."""
    words = _NOT_SLUG.sub("", unicodedata.normalize("NFC", title).casefold())
    return _GAPS.sub("-", words).strip("-")[: limits.MAX_SLUG_CHARS] or "section"


def cut_title(title: str) -> str:
    """At most 200 characters: of a heading path the end is kept, which is the closest heading."""
    plain = " ".join(title.split())
    return plain if len(plain) <= MAX_TITLE_CHARS else "…" + plain[-(MAX_TITLE_CHARS - 1) :]


class Fragments:
    """Makes the fragments of one document unique: a second equal one gets `-2`, and so on."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._used: set[str] = set()

    def unique(self, fragment: str) -> str:
        """The fragment itself if it is new; "" stays "" for text without a heading."""
        base = _short(fragment)
        candidate = base
        while base and candidate in self._used:
            self._counts[base] += 1
            candidate = f"{base}-{self._counts[base] + 1}"
        self._used.add(candidate)
        return candidate

    def part(self, fragment: str, number: int) -> str:
        """The place of part `number` (from 1) of a fragment."""
        if not fragment:
            return self.unique(str(number))
        return fragment if number == 1 else f"{fragment}~{number}"


def _short(fragment: str) -> str:
    if len(fragment) <= limits.MAX_FRAGMENT_CHARS:
        return fragment
    mark = hashlib.sha256(fragment.encode()).hexdigest()[:8]
    return f"{fragment[: limits.MAX_FRAGMENT_CHARS - 9]}-{mark}"
