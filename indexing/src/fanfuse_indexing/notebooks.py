"""The cells of a Jupyter notebook. In: the bytes of an .ipynb file of any nbformat version. Out: its text by headings
and each code cell as a piece of its own; or `ExtractionError`. Outputs and attachments are not read, nothing is run.

Source: nbformat, "The Notebook file format" (4.x: cells; up to 3: worksheets, `input` for the source of a code cell).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanfuse_indexing import limits
from fanfuse_indexing.chunking import cut_title, slug
from fanfuse_indexing.decoding import FALL_BACK, UndecodableError, clean, decode, plain_newlines
from fanfuse_indexing.documents import Piece
from fanfuse_indexing.extracted import Extracted, ExtractionError, Finding
from fanfuse_indexing.headings import Section, markdown_sections
from fanfuse_indexing.report import Code

_CODE = "code"
_MARKDOWN = "markdown"
_TOP = Section((), "")
_SOURCES = ("source", "input", "text")


def read(data: bytes, name: str) -> Extracted:
    """The pieces of a notebook; `name` stands in for a missing title."""
    notebook, findings = _parsed(data)
    cells = list(_cells(notebook))
    refused = sum(cell is None for cell in cells)
    if refused:
        reason = f"{refused} of {len(cells)} cells are no cells: the others are loaded"
        findings.append(Finding(Code.BAD_RECORD, reason, left_out=True))
    writer = _Writer(name, _language(notebook))
    for cell in cells:
        if cell is not None:
            writer.add(*cell)
    writer.end_text()
    long = sum(piece.whole and len(piece.text) > limits.MAX_WHOLE_CODE_CHARS for piece in writer.pieces)
    if long:
        findings.append(Finding(Code.SPLIT, f"{long} code cells over {limits.MAX_WHOLE_CODE_CHARS:,} characters"))
    return Extracted(tuple(writer.pieces), tuple(findings))


def _parsed(data: bytes) -> tuple[Mapping[str, Any], list[Finding]]:
    try:
        decoded = decode(data)
        notebook = json.loads(decoded.text)
    except UndecodableError as error:
        raise ExtractionError(Code.UNDECODABLE, str(error)) from error
    except json.JSONDecodeError as error:
        reason = f"cut short, or not JSON: {error.msg} at line {error.lineno}"
        raise ExtractionError(Code.BAD_JSON, reason) from error
    except ValueError as error:
        raise ExtractionError(Code.BAD_JSON, str(error)) from error
    if not isinstance(notebook, dict) or not any(
        isinstance(notebook.get(key), list) for key in ("cells", "worksheets")
    ):
        raise ExtractionError(Code.BAD_RECORD, "not a notebook: it has no list of cells")
    guessed = Finding(Code.OTHER_ENCODING, "read as Windows-1252: it is not UTF-8")
    return notebook, [guessed] if decoded.encoding == FALL_BACK else []


def _cells(notebook: Mapping[str, Any]) -> Iterator[tuple[str, str] | None]:
    """Kind and text of each cell; None for what is not one."""
    for holder in (notebook, *_listed(notebook, "worksheets")):
        cells = _listed(holder, "cells") if isinstance(holder, dict) else [None]
        for cell in cells:
            yield _cell(cell) if isinstance(cell, dict) else None


def _cell(cell: Mapping[str, Any]) -> tuple[str, str] | None:
    kind = cell.get("cell_type")
    source = next((cell[name] for name in _SOURCES if name in cell), None)
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(kind, str) or not isinstance(source, str):
        return None
    text = plain_newlines(clean(source))
    level = cell.get("level", 1)
    if kind == "heading" and isinstance(level, int) and text.strip():
        return _MARKDOWN, f"{'#' * max(1, min(level, 6))} {' '.join(text.split())}"
    return kind, text


def _listed(holder: Mapping[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _language(notebook: Mapping[str, Any]) -> str | None:
    """The programming language that the notebook names."""
    facts = notebook.get("metadata")
    for name, key in (("language_info", "name"), ("kernelspec", "language")):
        part = facts.get(name) if isinstance(facts, dict) else None
        value = part.get(key) if isinstance(part, dict) else None
        if isinstance(value, str) and value.strip():
            return clean(value.strip().lower())[:64]
    return None


@dataclass
class _Writer:
    """Joins text cells, so that sections reach over them; code keeps the heading it stands under."""

    name: str
    language: str | None
    pieces: list[Piece] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _section: Section = _TOP

    def add(self, kind: str, text: str) -> None:
        """Take one cell."""
        if not text.strip():
            return
        if kind != _CODE:
            self._text.append(text)
            return
        opening = self.end_text(before_code=True)
        language = {"language": self.language} if self.language else {}
        self._piece(f"{opening}\n\n{text}" if opening else text, _CODE, language)

    def end_text(self, *, before_code: bool = False) -> str:
        """Write the text so far; a last heading without text is returned `before_code`, which then opens with it."""
        for section in markdown_sections("\n\n".join(self._text), self._section):
            self._section = section
            if not (section.bare and before_code):
                self._piece(section.text, _MARKDOWN, {})
        opening = self._section.text if self._text and self._section.bare and before_code else ""
        self._text.clear()
        return opening

    def _piece(self, text: str, cell: str, metadata: Mapping[str, str]) -> None:
        path = self._section.path
        heading = {"heading": cut_title(path[-1])} if path else {}
        fragment = "/".join([*map(slug, path), *([_CODE] if cell == _CODE else [])])
        facts = {"cell_type": cell, **heading, **metadata}
        self.pieces.append(Piece(fragment, " › ".join(path) or self.name, text, facts, whole=cell == _CODE))
