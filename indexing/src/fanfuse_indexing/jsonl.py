"""Reads a JSONL file line by line. In: an open binary stream. Out: documents; bad lines go to the ledger with their
number. Holds one line at a time, never the file.
"""

import io
from collections.abc import Iterator
from functools import partial
from typing import IO, AnyStr, BinaryIO

from fanfuse_indexing import limits
from fanfuse_indexing.decoding import FALL_BACK, UndecodableError, decode, encoding_by_mark
from fanfuse_indexing.documents import Document
from fanfuse_indexing.records import RecordError, parse_record
from fanfuse_indexing.report import Code, Ledger

_BLANK = " \t\r\n\ufeff"


def read_records(stream: BinaryIO, source: str, ledger: Ledger) -> Iterator[Document]:
    """The documents of a file whose name is `source`."""
    for number, line in _lines(stream, source, ledger):
        text = line.strip(_BLANK)
        if not text:
            continue
        try:
            yield parse_record(text, source, number, partial(ledger.notice, source, number))
        except RecordError as error:
            ledger.skip(source, number, error.code, error.reason)


def _lines(stream: BinaryIO, source: str, ledger: Ledger) -> Iterator[tuple[int, str]]:
    encoding = encoding_by_mark(stream.read(4))
    stream.seek(0)
    if encoding is None or encoding == "utf-8-sig":
        yield from _byte_lines(stream, source, ledger)
    else:
        yield from _wide_lines(stream, encoding, source, ledger)


def _byte_lines(stream: BinaryIO, source: str, ledger: Ledger) -> Iterator[tuple[int, str]]:
    number = 0
    while line := stream.readline(limits.MAX_LINE_BYTES + 1):
        number += 1
        ledger.bytes_read += len(line)
        if len(line) > limits.MAX_LINE_BYTES:
            ledger.bytes_read += _pass_rest(stream, b"\n")
            ledger.skip(source, number, Code.TOO_LARGE, f"the line is over {limits.MAX_LINE_BYTES:,} bytes")
            continue
        try:
            decoded = decode(line)
        except UndecodableError as error:
            ledger.skip(source, number, Code.UNDECODABLE, str(error))
            continue
        if decoded.encoding == FALL_BACK:
            ledger.notice(source, number, Code.OTHER_ENCODING, "read as Windows-1252: it is not UTF-8")
        yield number, decoded.text


def _wide_lines(stream: BinaryIO, encoding: str, source: str, ledger: Ledger) -> Iterator[tuple[int, str]]:
    text = io.TextIOWrapper(stream, encoding, newline="\n")
    number = 0
    try:
        while line := text.readline(limits.MAX_LINE_BYTES + 1):
            number += 1
            ledger.bytes_read += len(line) * 2
            if len(line) > limits.MAX_LINE_BYTES:
                _pass_rest(text, "\n")
                ledger.skip(source, number, Code.TOO_LARGE, f"the line is over {limits.MAX_LINE_BYTES:,} characters")
            else:
                yield number, line
    except UnicodeError as error:
        ledger.skip(source, number + 1, Code.UNDECODABLE, f"not {encoding} from this line on: {error}")
    finally:
        text.detach()


def _pass_rest(stream: IO[AnyStr], newline: AnyStr) -> int:
    passed = 0
    while rest := stream.readline(limits.MAX_LINE_BYTES):
        passed += len(rest)
        if rest.endswith(newline):
            break
    return passed
