"""DOCX: sections by heading styles; what is no Word document is refused with a reason."""

import io
import zipfile

import pytest

from fanfuse_indexing import Code
from fanfuse_indexing.extracted import ExtractionError
from fanfuse_indexing.word_files import read

_SPACE = "http://schemas.openxmlformats.org"
_WORD = f"{_SPACE}/wordprocessingml/2006/main"
_TYPES = (
    f'<Types xmlns="{_SPACE}/package/2006/content-types"><Default Extension="xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    f'<Relationships xmlns="{_SPACE}/package/2006/relationships"><Relationship Id="r1" '
    f'Type="{_SPACE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)


def docx(body: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>')
    return file.getvalue()


def paragraph(text: str, style: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def test_sections_by_heading_style():
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("key", "value"))
    found = read(
        docx(
            paragraph("Handbook", "Heading1")
            + paragraph("Welcome &amp; hello")
            + paragraph("Leave", "Heading2")
            + f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
        ),
        "h.docx",
    )

    assert [(piece.fragment, piece.title, piece.metadata, piece.text) for piece in found.pieces] == [
        ("handbook", "Handbook", {"heading": "Handbook"}, "Handbook\n\nWelcome & hello"),
        ("handbook/leave", "Handbook › Leave", {"heading": "Leave"}, "Leave\n\nkey | value"),
    ]


def test_a_file_without_headings_is_called_by_its_name():
    assert [(piece.fragment, piece.title) for piece in read(docx(paragraph("text")), "h.docx").pieces] == [
        ("", "h.docx")
    ]


def _entity_bomb() -> bytes:
    good = docx("")
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 9))
    text = f'<!DOCTYPE d [<!ENTITY e0 "word">{levels}]><d>&e8;</d>'
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(file, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, text if entry == "word/document.xml" else old.read(entry))
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (docx(paragraph("text"))[:-30], Code.UNREADABLE),
        (b"PK\x03\x04 no archive", Code.UNREADABLE),
        (docx("<w:p><w:r>"), Code.UNREADABLE),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), Code.ENCRYPTED),
        (_entity_bomb(), Code.UNREADABLE),
    ],
)
def test_what_is_no_word_document_is_refused(data: bytes, expected: Code):
    with pytest.raises(ExtractionError) as refused:
        read(data, "n")

    assert refused.value.refusal.code is expected


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_UNPACKED_BYTES", 10_000)

    with pytest.raises(ExtractionError, match="at most 10,000"):
        read(docx(" " * 20_000), "n")
