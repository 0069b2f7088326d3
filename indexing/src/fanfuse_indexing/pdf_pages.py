"""The pages of a PDF. In: the bytes of the file. Out: one piece a page, with its number and its heading in the outline;
or `ExtractionError`. Pages that hold nothing but a stamp, such as a watermark, are left out and counted.

PDFium decides what the text of a page is. Pictures are not read: a scan has no text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import pypdfium2 as pdfium  # type: ignore[import-untyped]
from pypdfium2 import raw

from fanfuse_indexing import limits
from fanfuse_indexing.chunking import cut_title
from fanfuse_indexing.decoding import clean, plain_newlines
from fanfuse_indexing.documents import Piece
from fanfuse_indexing.extracted import Extracted, ExtractionError, Finding
from fanfuse_indexing.page_stamps import own_pages
from fanfuse_indexing.report import Code

Headings = Mapping[int, tuple[str, ...]]
"""Heading path of each page (from 0) at which one begins."""

_END_MARK = b"%%EOF"
_END_BYTES = 1_024
_NO_TITLES = frozenset({"", "untitled"})
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_HYPHENATED = re.compile("[\ufffe\x02]\n?")
_REFUSALS = {
    raw.FPDF_ERR_PASSWORD: (Code.ENCRYPTED, "it needs a password"),
    raw.FPDF_ERR_SECURITY: (Code.ENCRYPTED, "it is encrypted in a way that cannot be read"),
}


def read(data: bytes, name: str) -> Extracted:
    """The pieces of a PDF; `name` stands in for a missing title."""
    document = _opened(data)
    try:
        texts = list(_texts(document))
        headings = _headings(document)
        title = _title(document, name)
    finally:
        document.close()
    findings = [*_unread(texts), *_cut_short(data)]
    known = [text or "" for text in texts]
    own = own_pages(known)
    findings.extend(_without_text(len(known) - len(own), len(known)))
    return Extracted(tuple(_pieces(known, own, headings, title)), tuple(findings))


def page_text(text: str) -> str:
    """The text of a page as people type it: words cut at a line end joined, ligatures as letters, plain newlines."""
    return clean(_HYPHENATED.sub("", plain_newlines(text)).translate(_LIGATURES)).strip()


def _opened(data: bytes) -> pdfium.PdfDocument:
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        damaged = (Code.UNREADABLE, "not a PDF, or a damaged or incomplete one")
        raise ExtractionError(*_REFUSALS.get(error.err_code, damaged)) from error
    if len(document) > limits.MAX_PDF_PAGES:
        reason = f"{len(document):,} pages: at most {limits.MAX_PDF_PAGES:,} are read"
        document.close()
        raise ExtractionError(Code.TOO_LARGE, reason)
    return document


def _title(document: pdfium.PdfDocument, name: str) -> str:
    stated = cut_title(clean(document.get_metadata_dict()["Title"]))
    return name if stated.casefold() in _NO_TITLES else stated


def _texts(document: pdfium.PdfDocument) -> Iterator[str | None]:
    """The text of each page; None if it can't be read or is too long."""
    chars = 0
    for number in range(len(document)):
        text = _text(document, number)
        chars += len(text or "")
        if chars > limits.MAX_EXTRACT_BYTES // 2:
            raise ExtractionError(Code.TOO_LARGE, f"its text is over {limits.MAX_EXTRACT_BYTES // 2:,} characters")
        yield text


def _text(document: pdfium.PdfDocument, number: int) -> str | None:
    try:
        page = document[number]
    except pdfium.PdfiumError:
        return None
    try:
        text = page.get_textpage()
        found = text.get_text_bounded() if text.count_chars() <= limits.MAX_PDF_PAGE_CHARS else None
    except pdfium.PdfiumError:
        return None
    finally:
        page.close()  # closes its text too
    return None if found is None else page_text(found)


def _headings(document: pdfium.PdfDocument) -> Headings:
    headings: dict[int, tuple[str, ...]] = {}
    path: list[str] = []
    for mark in islice(document.get_toc(), limits.MAX_PDF_BOOKMARKS):
        path = [*path[: mark.level], cut_title(clean(mark.get_title()))]
        target = mark.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            headings.setdefault(page, tuple(filter(None, path)))
    return headings


def _pieces(texts: Sequence[str], own: Sequence[int], headings: Headings, title: str) -> Iterator[Piece]:
    wanted = set(own)
    path: tuple[str, ...] = ()
    for number, text in enumerate(texts):
        path = headings.get(number, path)
        if number in wanted:
            heading = {"heading": path[-1]} if path else {}
            page = number + 1
            yield Piece(f"page-{page}", " › ".join((title, *path)), text, {"page": page, **heading})


def _unread(texts: Sequence[str | None]) -> Iterator[Finding]:
    unread = [str(number) for number, text in enumerate(texts, 1) if text is None]
    if unread:
        reason = f"{len(unread)} of {len(texts)} pages cannot be read: {', '.join(unread[:10])}"
        yield Finding(Code.UNREADABLE, reason, left_out=True)


def _cut_short(data: bytes) -> Iterator[Finding]:
    if _END_MARK not in data[-_END_BYTES:]:
        yield Finding(Code.UNREADABLE, "its end is missing: what could be read of it is loaded", left_out=True)


def _without_text(empty: int, total: int) -> Iterator[Finding]:
    if empty == total:
        raise ExtractionError(Code.NO_TEXT, f"none of its {total} pages has text of its own: scanned?")
    if empty:
        most = empty > limits.MAX_TEXTLESS_SHARE * total
        reason = f"{empty} of {total} pages have no text of their own: the others are loaded"
        yield Finding(Code.NO_TEXT if most else Code.EMPTY_PAGES, reason, left_out=most)
