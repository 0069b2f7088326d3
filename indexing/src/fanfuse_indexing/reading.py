"""A path to documents. In: a file or folder. Out: documents in a stable order; what cannot be read, and why, goes to
the ledger. Holds one file, or one line of a JSONL file, at a time.
"""

import hashlib
import io
import tokenize
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from fanfuse_indexing import limits
from fanfuse_indexing.decoding import FALL_BACK, Decoded, UndecodableError, clean, decode, plain_newlines
from fanfuse_indexing.documents import Document
from fanfuse_indexing.extracted import Extracted
from fanfuse_indexing.extraction import Extraction
from fanfuse_indexing.files import SourceFile, source_files
from fanfuse_indexing.formats import EXTRACTED, Format
from fanfuse_indexing.jsonl import read_records
from fanfuse_indexing.report import Code, Ledger

_CONTROLS = {code: f"%{code:02X}" for code in (*range(32), 127)}


def read_documents(root: Path, ledger: Ledger) -> Iterator[Document]:
    """Every document at or below `root`. Raises `FileNotFoundError` if there is nothing at `root`."""
    with Extraction() as extraction:
        for file in source_files(root, ledger):
            try:
                yield from _documents(file, extraction, ledger)
            except OSError as error:
                ledger.skip(file.name, None, Code.UNREADABLE, error.strerror or type(error).__name__)


def document_id_of(name: str) -> str:
    """The id of a file: its path below the folder given; control characters as %XX, a very long one ends in a hash."""
    plain = clean(name).translate(_CONTROLS)
    if len(plain) <= limits.MAX_DOCUMENT_ID_CHARS:
        return plain
    return f"{plain[: limits.MAX_DOCUMENT_ID_CHARS - 17]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _documents(file: SourceFile, extraction: Extraction, ledger: Ledger) -> Iterator[Document]:
    if file.format is Format.JSONL:
        with file.path.open("rb") as stream:
            yield from read_records(stream, file.name, ledger)
    elif file.format in EXTRACTED:
        yield from _extracted(file, extraction.read(file.path, file.format, _title(file)), ledger)
        ledger.bytes_read += file.size
    else:
        yield from _read_file(file, ledger)


def _extracted(file: SourceFile, extracted: Extracted, ledger: Ledger) -> Iterator[Document]:
    findings = (extracted.refusal,) if extracted.refusal else extracted.findings
    for finding in findings:
        tell = ledger.skip if finding.left_out else ledger.notice
        tell(file.name, None, finding.code, finding.reason)
    if not extracted.refusal:
        yield replace(_as_document(file, ""), pieces=extracted.pieces)


def _read_file(file: SourceFile, ledger: Ledger) -> Iterator[Document]:
    most = limits.MAX_FILE_BYTES[file.format]
    with file.path.open("rb") as stream:
        data = stream.read(most + 1)
    ledger.bytes_read += len(data)
    if len(data) > most:
        ledger.skip(file.name, None, Code.TOO_LARGE, f"it grew over {most:,} bytes while it was read")
        return
    try:
        decoded = _decode(data, file.format)
    except UndecodableError as error:
        ledger.skip(file.name, None, Code.UNDECODABLE, str(error))
        return
    if decoded.encoding == FALL_BACK:
        ledger.notice(file.name, None, Code.OTHER_ENCODING, "read as Windows-1252: it is not UTF-8")
    yield from _document(file, plain_newlines(decoded.text), ledger)


def _document(file: SourceFile, text: str, ledger: Ledger) -> Iterator[Document]:
    if not text.strip():
        ledger.skip(file.name, None, Code.NO_TEXT, "the file holds blanks only")
        return
    yield _as_document(file, text)


def _as_document(file: SourceFile, text: str) -> Document:
    return Document(
        document_id=document_id_of(file.name),
        title=_title(file),
        text=text,
        source=file.name,
        format=file.format,
        metadata={"path": file.name, "format": file.format.value},
    )


def _title(file: SourceFile) -> str:
    return " ".join(PurePosixPath(file.name).name.split())


def _decode(data: bytes, file_format: Format) -> Decoded:
    """A Python file may name its encoding in its first two lines (PEP 263)."""
    if file_format is Format.PYTHON:
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            if not encoding.startswith("utf-8"):
                return Decoded(clean(data.decode(encoding)), encoding)
        except (SyntaxError, UnicodeDecodeError):
            return decode(data)
    return decode(data)
