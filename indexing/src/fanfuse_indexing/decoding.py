"""Bytes to text. In: the bytes of a file or line. Out: text and the encoding it was in, or `UndecodableError`.

Nothing is replaced or dropped in silence: a byte order mark decides, then UTF-8, then Windows-1252 where every byte of
it is defined and the text has no control characters.
"""

import codecs
import re
from dataclasses import dataclass

_MARKS = (  # the longer ones first: UTF-32 LE starts like UTF-16 LE
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_NOT_TEXT = re.compile(r"[\x00\ud800-\udfff]")
_NAMED_ENCODING = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_PRESCAN_BYTES = 1_024
_AS_BROWSERS_DO = {"iso8859-1": "windows-1252", "ascii": "windows-1252", "cp1252": "windows-1252"}
_NO_PAGE_ENCODINGS = ("utf", "unicode", "raw", "idna", "punycode", "undefined")
"""UTF-8 is tried anyway; the others are no encodings of pages, or can't be named by ASCII bytes."""
FALL_BACK = "cp1252"


class UndecodableError(ValueError):
    """The bytes are not text in an encoding we can be sure of."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """`encoding` is a Python codec name."""

    text: str
    encoding: str


def encoding_by_mark(head: bytes) -> str | None:
    """The encoding that a byte order mark at the start of `head` (4 bytes are enough) states."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def decode(data: bytes) -> Decoded:
    """Decode strictly; raises `UndecodableError` with the reason."""
    encoding = encoding_by_mark(data[:4])
    try:
        decoded = Decoded(data.decode(encoding or "utf-8"), encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise UndecodableError(f"marked as {encoding}, but byte {error.start} is not: {error.reason}") from error
        decoded = _fall_back(data, error)
    if "\x00" in decoded.text:
        raise UndecodableError("holds NUL characters: binary, or UTF-16 without a byte order mark")
    return decoded


def decode_page(data: bytes) -> Decoded:
    """Decode HTML: a byte order mark, else the encoding its first 1,024 bytes name where that fits, else as `decode`.

    Source: WHATWG HTML, "Determining the character encoding", and Encoding: pages that name Latin-1 mean Windows-1252.
    """
    named = _NAMED_ENCODING.search(data[:_PRESCAN_BYTES])
    if named is None or encoding_by_mark(data[:4]) is not None:
        return decode(data)
    try:
        encoding = codecs.lookup(named[1].decode()).name
        encoding = _AS_BROWSERS_DO.get(encoding, encoding)
        text = "\x00" if encoding.startswith(_NO_PAGE_ENCODINGS) else data.decode(encoding)
    except (LookupError, UnicodeError):
        return decode(data)
    return decode(data) if "\x00" in text else Decoded(text, encoding)


def _fall_back(data: bytes, error: UnicodeDecodeError) -> Decoded:
    try:
        text = data.decode(FALL_BACK)
    except UnicodeDecodeError:
        text = "\x00"
    if _CONTROLS.search(text):
        raise UndecodableError(f"byte {error.start} is not UTF-8, and the whole is not Windows-1252 text") from error
    return Decoded(text, FALL_BACK)


def clean(text: str) -> str:
    """Valid Unicode for every client: unpaired surrogates and NUL become U+FFFD. All else is left as it is."""
    return _NOT_TEXT.sub("�", text)


def plain_newlines(text: str) -> str:
    """CR LF and lone CR become LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
