"""A file that makes its parser hang, crash or eat memory costs that file and nothing else."""

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanfuse_indexing import Code, Loading
from fanfuse_indexing.extracted import Extracted, Request
from fanfuse_indexing.extraction import Extraction
from fanfuse_indexing.extraction_process import answer
from fanfuse_indexing.formats import Format

MakePdf = Callable[..., bytes]


@pytest.fixture
def extraction() -> Iterator[Extraction]:
    with Extraction() as running:
        yield running


def refused(found: Extracted) -> tuple[Code, str]:
    assert found.refusal is not None
    return found.refusal.code, found.refusal.reason


def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text("<p>text", encoding="utf-8")
    return path


def test_a_hanging_parser_is_ended_and_the_next_file_is_read(
    tmp_path: Path, extraction: Extraction, monkeypatch: pytest.MonkeyPatch
):
    page(tmp_path)
    assert extraction.read(tmp_path / "page.html", Format.HTML, "page").pieces
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_EXTRACT_SECONDS", 0.5)
    os.mkfifo(tmp_path / "hangs.html")
    code, reason = refused(extraction.read(tmp_path / "hangs.html", Format.HTML, "hangs"))
    monkeypatch.undo()

    assert (code, reason) == (Code.TOO_SLOW, "it could not be read within 0.5 s")
    assert [piece.text for piece in extraction.read(tmp_path / "page.html", Format.HTML, "page").pieces] == ["text"]


def test_a_parser_that_ends_is_reported_and_the_next_file_is_read(
    tmp_path: Path, extraction: Extraction, exponential_pdf: bytes
):
    (tmp_path / "bomb.pdf").write_bytes(exponential_pdf)
    code, reason = refused(extraction.read(tmp_path / "bomb.pdf", Format.PDF, "bomb"))

    assert code in {Code.UNREADABLE, Code.TOO_SLOW}
    assert "its parser ended with status" in reason or "within" in reason
    assert extraction.read(page(tmp_path), Format.HTML, "page").refusal is None


def test_a_parser_killed_between_two_files_is_replaced(tmp_path: Path, extraction: Extraction):
    path = page(tmp_path)
    assert extraction.read(path, Format.HTML, "page").pieces
    process = extraction._process
    assert process is not None
    process.kill()
    process.wait()

    assert extraction.read(path, Format.HTML, "page").pieces


def test_it_ends_with_the_run(tmp_path: Path):
    with Extraction() as extraction:
        extraction.read(page(tmp_path), Format.HTML, "page")
        process = extraction._process
    assert process is not None

    assert process.returncode is not None


def test_a_flate_bomb_costs_no_memory_here(tmp_path: Path, make_pdf: MakePdf):
    """ING-02: memory is bounded, whatever a file unpacks to."""
    (tmp_path / "bomb.pdf").write_bytes(_with_blanks(make_pdf([["x"]]), 1_200))
    (tmp_path / "good.pdf").write_bytes(make_pdf([["Words"]]))
    loading = Loading(tmp_path)

    assert [chunk.text for chunk in loading] == ["Words"]
    assert [fault.source for fault in loading.report.faults] == ["bomb.pdf"]


def _with_blanks(pdf: bytes, millions: int) -> bytes:
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(b" " * 10**6) for _ in range(millions)) + packer.flush()
    start, end = pdf.index(b"4 0 obj\n") + 8, pdf.index(b"\nendobj", pdf.index(b"4 0 obj"))
    body = b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(packed), packed)
    return pdf[:start] + body + pdf[end:]


@pytest.mark.parametrize("markup", ["<div>" * 10_000, "<table><a>" * 20_000, "<b><i><u>" * 3_000 + "<p>" * 3_000])
def test_deep_pages_are_read_or_refused(tmp_path: Path, extraction: Extraction, markup: str):
    (tmp_path / "deep.html").write_text(f"{markup}text", encoding="utf-8")
    found = extraction.read(tmp_path / "deep.html", Format.HTML, "deep")

    assert [piece.text for piece in found.pieces] == ["text"] if found.refusal is None else found.refusal.left_out


def test_names_need_not_be_unicode(tmp_path: Path, extraction: Extraction):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9\n.html"))
    path.write_text("<p>text", encoding="utf-8")

    assert [piece.text for piece in extraction.read(path, Format.HTML, "café").pieces] == ["text"]


def test_a_file_that_is_gone_or_has_grown_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert refused(answer(Request.of(Format.HTML, tmp_path / "gone.html", "gone"))) == (
        Code.UNREADABLE,
        "No such file or directory",
    )
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_FILE_BYTES", {Format.HTML: 3})
    assert refused(answer(Request.of(Format.HTML, page(tmp_path), "page")))[0] is Code.TOO_LARGE


def test_a_notebook_nested_too_deeply_is_refused(tmp_path: Path):
    (tmp_path / "deep.ipynb").write_text('{"cells": ' + "[" * 200_000, encoding="utf-8")

    assert refused(answer(Request.of(Format.NOTEBOOK, tmp_path / "deep.ipynb", "deep")))[0] is Code.UNREADABLE


def test_what_was_found_survives_the_way_back(make_pdf: MakePdf, tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(make_pdf([["Words"], []], title="T"))
    found = answer(Request.of(Format.PDF, tmp_path / "a.pdf", "a"))

    assert Extracted.from_line(found.to_line()) == found
    assert found.pieces[0].metadata == {"page": 1}
