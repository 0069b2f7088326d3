"""The sections of a DOCX file. In: its bytes. Out: the pieces of the HTML that Mammoth makes of it, pictures left out;
or `ExtractionError`.
"""

import io
import zipfile
import zlib
from xml.parsers.expat import ExpatError

import mammoth  # type: ignore[import-untyped]

from fanfuse_indexing import limits
from fanfuse_indexing.extracted import Extracted, ExtractionError
from fanfuse_indexing.report import Code
from fanfuse_indexing.web_pages import pieces_of_html

_OLE_MARK = b"\xd0\xcf\x11\xe0"
"""An encrypted DOCX is no ZIP archive but an OLE container, as the old .doc is."""
_DAMAGED = (
    *(ExpatError, zipfile.BadZipFile, zlib.error),
    *(AttributeError, IndexError, KeyError, OSError, RuntimeError, TypeError, ValueError),
)
"""What Mammoth and the XML parser raise for XML that is broken or is no Word document."""


def read(data: bytes, name: str) -> Extracted:
    """The pieces of a DOCX file; `name` stands in for a missing title."""
    _refuse_unfit(data)
    without_pictures = mammoth.images.img_element(lambda image: {})
    try:
        markup = mammoth.convert_to_html(io.BytesIO(data), convert_image=without_pictures).value
    except _DAMAGED as error:
        raise ExtractionError(Code.UNREADABLE, f"not a Word document: {error}") from error
    return Extracted(tuple(pieces_of_html(markup, name)))


def _refuse_unfit(data: bytes) -> None:
    if data.startswith(_OLE_MARK):
        raise ExtractionError(Code.ENCRYPTED, "it needs a password, or is an old .doc with a new name")
    try:
        size = sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(data)).infolist())
    # What zipfile raises for a compression, or a version of the format, that it does not read.
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ExtractionError(Code.UNREADABLE, f"not a DOCX file, or incomplete: {error}") from error
    if size > limits.MAX_UNPACKED_BYTES:
        raise ExtractionError(Code.TOO_LARGE, f"{size:,} bytes unpacked: at most {limits.MAX_UNPACKED_BYTES:,}")
