"""PDF: every page with text is found with its number; what has none, or can't be read, is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import FieldType
from fanfuse_indexing import Code, Loading, LoadReport
from fanfuse_indexing.extracted import ExtractionError
from fanfuse_indexing.pdf_pages import page_text, read

MakePdf = Callable[..., bytes]
STAMP = "Licensed to J. Doe, copy 47-11"


def load(path: Path) -> tuple[list[Chunk], LoadReport]:
    loading = Loading(path)
    return list(loading), loading.report


def test_ing_01_a_pdf_without_text_is_never_indexed_with_success(tmp_path: Path, make_pdf: MakePdf):
    """ING-01: image-only, encrypted, watermark-only, empty and cut files beside good ones."""
    good = make_pdf([["Words to find"], ["Further words"]])
    assert len(STAMP) == 30
    files = {
        "cut.pdf": good[: len(good) // 2],
        "encrypted.pdf": make_pdf([["secret"]], password="sesame"),
        "garbage.pdf": b"no PDF at all",
        "good.pdf": good,
        "image-only.pdf": make_pdf([[], [], []]),
        "watermark.pdf": make_pdf([[STAMP]] * 200),
        "zero.pdf": b"",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "good.md").write_text("# Good\ntext", encoding="utf-8")
    chunks, report = load(tmp_path)

    assert [chunk.chunk_id for chunk in chunks] == ["good.md#good", "good.pdf#page-1", "good.pdf#page-2"]
    assert {skipped.source: skipped.code for skipped in report.skipped} == {
        "cut.pdf": Code.UNREADABLE,
        "encrypted.pdf": Code.ENCRYPTED,
        "garbage.pdf": Code.UNREADABLE,
        "image-only.pdf": Code.NO_TEXT,
        "watermark.pdf": Code.NO_TEXT,
        "zero.pdf": Code.NO_TEXT,
    }
    assert report.fault_counts == {Code.UNREADABLE: 2, Code.ENCRYPTED: 1, Code.NO_TEXT: 3}
    assert (report.loaded, report.left_out, report.blank_chunks) == (2, 6, 3)


def test_a_page_carries_its_number_and_its_heading(tmp_path: Path, make_pdf: MakePdf):
    pages = [["Welcome to it"], ["Take the box"], ["Open the box"], ["Call us"]]
    outline = [("Install", 2), ("Support", 4)]
    (tmp_path / "m.pdf").write_bytes(make_pdf(pages, title="The Manual", outline=outline))
    chunks, report = load(tmp_path)

    assert [(chunk.metadata["page"], chunk.metadata.get("heading"), chunk.text) for chunk in chunks] == [
        (1, None, "Welcome to it"),
        (2, "Install", "Take the box"),
        (3, "Install", "Open the box"),
        (4, "Support", "Call us"),
    ]
    assert [chunk.title for chunk in chunks[:2]] == ["The Manual", "The Manual › Install"]
    assert {chunk.source for chunk in chunks} == {chunk.metadata["path"] for chunk in chunks} == {"m.pdf"}
    assert report.fields == {
        "path": FieldType.STRING,
        "format": FieldType.STRING,
        "page": FieldType.INTEGER,
        "heading": FieldType.STRING,
    }


def test_without_a_title_it_is_called_by_its_file(tmp_path: Path, make_pdf: MakePdf):
    (tmp_path / "a b.pdf").write_bytes(make_pdf([["Words"]], title="Untitled"))

    assert [chunk.title for chunk in load(tmp_path)[0]] == ["a b.pdf"]


def test_what_opens_without_a_password_is_read(make_pdf: MakePdf):
    """Only its owner's rights are protected: every viewer shows it."""
    assert [piece.text for piece in read(make_pdf([["Plain to see"]], password=""), "n").pieces] == ["Plain to see"]


def test_pages_without_text_are_counted_and_the_others_loaded(make_pdf: MakePdf):
    few = read(make_pdf([["One has text"], ["Two too"], [], ["Four again"]]), "n")
    most = read(make_pdf([["The cover"], [], [], []]), "n")

    assert [piece.metadata["page"] for piece in few.pieces] == [1, 2, 4]
    assert [(found.code, found.left_out) for found in few.findings] == [(Code.EMPTY_PAGES, False)]
    assert [piece.metadata["page"] for piece in most.pieces] == [1]
    assert [(found.code, found.left_out) for found in most.findings] == [(Code.NO_TEXT, True)]
    assert most.findings[0].reason.startswith("3 of 4 pages have no text")


def test_a_missing_end_is_a_fault_though_the_rest_is_loaded(make_pdf: MakePdf):
    found = read(make_pdf([["Words"]])[: -len(b"%%EOF\n")], "n")

    assert [piece.text for piece in found.pieces] == ["Words"]
    assert [(finding.code, finding.left_out) for finding in found.findings] == [(Code.UNREADABLE, True)]


def test_too_many_pages_and_too_long_ones(make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_PDF_PAGES", 2)
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_PDF_PAGE_CHARS", 20)
    found = read(make_pdf([["Short"], ["This page is too long to be read"]]), "n")

    assert [piece.text for piece in found.pieces] == ["Short"]
    assert (Code.UNREADABLE, "1 of 2 pages cannot be read: 2") in [(one.code, one.reason) for one in found.findings]
    with pytest.raises(ExtractionError, match="3 pages: at most 2"):
        read(make_pdf([["a"], ["b"], ["c"]]), "n")


def test_words_cut_at_a_line_end_are_joined_and_ligatures_are_letters():
    assert page_text("retrie\ufffe\r\nval of \ufb01les\r\nand o\ufb03ces\x00") == "retrieval of files\nand offices�"
