"""PDF files of few words, made here: no library that writes them is needed."""

import hashlib
from collections.abc import Callable, Sequence

import pytest

PdfMaker = Callable[..., bytes]

_FONT = b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
_PAD = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_OWNER = bytes(range(32))
_PERMISSIONS = -4
_FILE_ID = b"0123456789abcdef"


def rc4(key: bytes, data: bytes) -> bytes:
    """The cipher of PDF's standard security handler, revision 2."""
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    out = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def file_key(password: str) -> bytes:
    padded = (password.encode() + _PAD)[:32]
    return hashlib.md5(padded + _OWNER + _PERMISSIONS.to_bytes(4, "little", signed=True) + _FILE_ID).digest()[:5]


def assemble(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF file of these objects, numbered from 1; the first is the catalogue."""
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table)
    return out + b"trailer<</Size %d/Root 1 0 R%b>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)


def stream(data: bytes, extra: bytes = b"") -> bytes:
    return b"<<%b/Length %d>>stream\n%b\nendstream" % (extra, len(data), data)


def content(lines: Sequence[str]) -> bytes:
    shown = b"".join(b"(%b) ' " % line.encode("cp1252").replace(b"(", b"\\(") for line in lines)
    return b"BT /F1 10 Tf 12 TL 50 780 Td %bET" % shown


def _outline(titles: Sequence[tuple[str, int]], first: int) -> list[bytes]:
    """A flat outline of (title, page from 1), whose own object is number `first`."""
    marks = []
    for place, (title, page) in enumerate(titles, first + 1):
        follower = b"/Next %d 0 R" % (place + 1) if place < first + len(titles) else b""
        marks.append(
            b"<</Title(%b)/Parent %d 0 R/Dest[%d 0 R/Fit]%b>>" % (title.encode(), first, 2 * page + 1, follower)
        )
    head = b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>" % (first + 1, first + len(titles), len(titles))
    return [head, *marks]


@pytest.fixture(scope="session")
def make_pdf() -> PdfMaker:
    """`make_pdf(pages, title=, outline=, password=)`: the bytes of a PDF with these lines on its pages."""

    def make(
        pages: Sequence[Sequence[str]],
        *,
        title: str = "",
        outline: Sequence[tuple[str, int]] = (),
        password: str | None = None,
    ) -> bytes:
        kids = b" ".join(b"%d 0 R" % (2 * place + 3) for place in range(len(pages)))
        marks = _outline(outline, 2 * len(pages) + 3) if outline else []
        outlines = b"/Outlines %d 0 R" % (2 * len(pages) + 3) if outline else b""
        objects = [b"<</Type/Catalog/Pages 2 0 R%b>>" % outlines]
        objects.append(b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, len(pages)))
        for place, lines in enumerate(pages):
            number = 2 * place + 4
            data = content(lines)
            if password is not None:
                salt = number.to_bytes(3, "little") + b"\0\0"
                data = rc4(hashlib.md5(file_key(password) + salt).digest()[:10], data)
            objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R%b>>" % (number, _FONT))
            objects.append(stream(data))
        objects += marks
        trailer = b""
        if title:
            objects.append(b"<</Title(%b)>>" % title.encode())
            trailer += b"/Info %d 0 R" % len(objects)
        if password is not None:
            user = rc4(file_key(password), _PAD)
            facts = b"/Filter/Standard/V 1/R 2/O<%b>/U<%b>/P %d"
            objects.append(b"<<" + facts % (_OWNER.hex().encode(), user.hex().encode(), _PERMISSIONS) + b">>")
            file_id = _FILE_ID.hex().encode()
            trailer += b"/Encrypt %d 0 R/ID[<%b><%b>]" % (len(objects), file_id, file_id)
        return assemble(objects, trailer)

    return make


@pytest.fixture(scope="session")
def exponential_pdf() -> bytes:
    """A few kilobytes that draw 20 to the power of 12 words."""
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>"
    twenty = b"/X Do " * 20
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, stream(twenty)]
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]"
    forms = [stream(twenty, form + b"/Resources<</XObject<</X %d 0 R>>>>" % number) for number in range(6, 17)]
    return assemble([*objects, *forms, stream(content(["word"]), form + _FONT)])
