"""What a reader makes of a file that is more than plain text, and how it passes between processes.

In: what the readers found. Out: one line of JSON, and back. JSON, not pickle: what a hostile file might make of the
reading process must never become code in this one.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter

from fanfuse_indexing.documents import Piece
from fanfuse_indexing.formats import Format
from fanfuse_indexing.report import Code


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to report of a file. `left_out`: a part of it is not in the index."""

    code: Code
    reason: str
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file, cut at its pages, headings or cells; `refusal` says why there is none."""

    pieces: tuple[Piece, ...] = ()
    findings: tuple[Finding, ...] = ()
    refusal: Finding | None = None

    def to_line(self) -> bytes:
        """UTF-8 JSON and a newline."""
        return _EXTRACTED.dump_json(self) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Extracted":
        """Back from `to_line`; raises `pydantic.ValidationError`."""
        return _EXTRACTED.validate_json(line)


@dataclass(frozen=True, slots=True)
class Request:
    """A file to read. `path`: the bytes of its name in hexadecimal, as names need not be Unicode."""

    format: Format
    path: str
    name: str
    """What it is called where it has no title."""

    @classmethod
    def of(cls, file_format: Format, path: Path, name: str) -> Self:
        """The request for a file."""
        return cls(file_format, os.fsencode(path).hex(), name)

    def file(self) -> Path:
        """The path to open."""
        return Path(os.fsdecode(bytes.fromhex(self.path)))

    def to_line(self) -> bytes:
        """UTF-8 JSON and a newline."""
        return _REQUEST.dump_json(self) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Request":
        """Back from `to_line`; raises `pydantic.ValidationError`."""
        return _REQUEST.validate_json(line)


class ExtractionError(ValueError):
    """A file of which nothing can be read."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.refusal = Finding(code, reason, left_out=True)


_EXTRACTED = TypeAdapter(Extracted)
_REQUEST = TypeAdapter(Request)
