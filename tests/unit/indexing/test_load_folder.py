"""Loading a path: good sources become chunks, every other is named with a reason, memory stays bounded."""

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import FieldType
from fanfuse_indexing import Code, Loading, LoadReport


def load(path: Path) -> tuple[list[Chunk], LoadReport]:
    loading = Loading(path)
    return list(loading), loading.report


def codes(report: LoadReport) -> dict[str, Code]:
    return {skipped.source: skipped.code for skipped in report.skipped}


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """ING-02: a folder in which almost everything is wrong."""
    (tmp_path / "good.md").write_text("# Good\ntext", encoding="utf-8")
    (tmp_path / "bom.md").write_text("# Marked\ntext", encoding="utf-8-sig")
    (tmp_path / "truncated.ipynb").write_text('{"cells": [', encoding="utf-8")
    (tmp_path / "marked.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "source": "x = 1"}]}', encoding="utf-8-sig"
    )
    (tmp_path / "windows.txt").write_bytes(b"it\x92s Windows text")
    (tmp_path / "wide.txt").write_bytes("Grüße aus UTF-16".encode("utf-16"))
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)))
    lines = [
        json.dumps({"_id": "a", "text": "first"}),
        '{"_id": "b", "text": ',
        json.dumps({"_id": "c", "text": "third"}),
    ]
    (tmp_path / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name in ("sparse.txt", "sparse.jsonl", "sparse.pdf", "sparse.ipynb", "sparse.html", "sparse.docx"):
        with (tmp_path / name).open("wb") as sparse:
            sparse.truncate(2 * 1024**3)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    (tmp_path / "line\nbreak 🙂.md").write_text("odd name", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_text("undecodable name", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.txt")
    return tmp_path


def test_ing_02_the_good_ones_load_and_the_bad_ones_are_listed(batch: Path):
    tracemalloc.start()
    chunks, report = load(batch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert {chunk.chunk_id for chunk in chunks} == {
        "a",
        "c",
        "bom.md#marked",
        "caf\\xe9.txt#1",
        "good.md#good",
        "line%0Abreak 🙂.md#1",
        "marked.ipynb#code",
        "wide.txt#1",
        "windows.txt#1",
    }
    assert codes(report) == {
        "truncated.ipynb": Code.BAD_JSON,
        "binary.txt": Code.UNDECODABLE,
        "records.jsonl": Code.BAD_JSON,
        "sparse.txt": Code.TOO_LARGE,
        **dict.fromkeys(("sparse.jsonl", "sparse.pdf", "sparse.ipynb", "sparse.html", "sparse.docx"), Code.TOO_LARGE),
        "loop": Code.LINK,
        "self.md": Code.UNREADABLE,
        "pipe.txt": Code.UNREADABLE,
    }
    assert [skipped.line for skipped in report.skipped if skipped.source == "records.jsonl"] == [2]
    assert [(notice.source, notice.code) for notice in report.notices] == [("windows.txt", Code.OTHER_ENCODING)]
    assert "it’s Windows text" in {chunk.text for chunk in chunks}
    assert (report.loaded, report.chunks, report.left_out, len(report.faults)) == (9, 9, 12, 12)
    assert peak < 20 * 1024**2


def test_ing_01_sources_without_text_are_named_and_counted(tmp_path: Path):
    """ING-01: nothing is 'indexed' with zero chunks and success."""
    (tmp_path / "empty.txt").touch()
    (tmp_path / "blank.md").write_text(" \n\t\n　\n", encoding="utf-8")
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "good.txt").write_text("text", encoding="utf-8")
    chunks, report = load(tmp_path)

    assert [chunk.chunk_id for chunk in chunks] == ["good.txt#1"]
    assert codes(report) == {
        "empty.txt": Code.NO_TEXT,
        "blank.md": Code.NO_TEXT,
        "scan.pdf": Code.UNREADABLE,
        "picture.png": Code.PASSED_OVER,
    }
    assert report.blank_chunks == 2
    assert [fault.source for fault in report.faults] == ["blank.md", "empty.txt", "scan.pdf"]
    assert str(report.faults[0]) == "blank.md: the file holds blanks only [no_text]"


def test_ing_04_blank_records_between_good_ones_are_skipped_and_counted(tmp_path: Path):
    """ING-04: one empty chunk aborts nothing, Chinese is indexed, what is over-long is split and reported."""
    chinese = "检索增强生成把检索到的文本交给模型" * 90
    records = [{"_id": "a", "text": chinese}, {"_id": "b", "text": " \u3000 "}, {"_id": "c", "text": "QUJD" * 10_000}]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    chunks, report = load(tmp_path / "c.jsonl")

    assert chunks[0].text == chinese
    assert "".join(chunk.text for chunk in chunks[1:]) == "QUJD" * 10_000
    assert max(len(chunk.text) for chunk in chunks[1:]) <= 2_000
    assert [(skipped.line, skipped.code) for skipped in report.skipped] == [(2, Code.NO_TEXT)]
    assert [(notice.line, notice.code) for notice in report.notices] == [(3, Code.SPLIT)]
    assert report.blank_chunks == 1


def test_ids_do_not_change_when_other_documents_do(tmp_path: Path):
    (tmp_path / "b.md").write_text("# One\ntext\n# Two\ntext", encoding="utf-8")
    before = {chunk.chunk_id for chunk in load(tmp_path)[0]}
    (tmp_path / "a.md").write_text("# One\ntext", encoding="utf-8")
    (tmp_path / "c.txt").write_text("text", encoding="utf-8")

    assert before < {chunk.chunk_id for chunk in load(tmp_path)[0]}


def test_an_id_used_twice_is_listed_and_the_first_one_stays(tmp_path: Path):
    records = [
        {"_id": "a", "text": "x " * 10_001},
        {"_id": "b", "text": "1"},
        {"_id": "b", "text": "2"},
        {"_id": "a#2", "text": "3"},
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    chunks, report = load(tmp_path / "c.jsonl")

    assert [(skipped.line, skipped.code) for skipped in report.skipped] == [
        (3, Code.DUPLICATE_ID),
        (4, Code.DUPLICATE_ID),
    ]
    assert [chunk.text for chunk in chunks if chunk.chunk_id == "b"] == ["1"]


def test_hidden_and_generated_folders_are_passed_over(tmp_path: Path):
    for folder in (".git", "node_modules", "__pycache__", "env", "docs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text("text", encoding="utf-8")
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "docs/__init__.py").touch()
    chunks, report = load(tmp_path)

    assert [chunk.chunk_id for chunk in chunks] == ["docs/a.md#1"]
    assert report.counts == {Code.PASSED_OVER: 5}
    assert report.faults == ()


def test_of_a_test_collection_only_the_documents_are_loaded(tmp_path: Path):
    for name in ("corpus", "queries"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"_id": "1", "text": name}), encoding="utf-8")
    chunks, report = load(tmp_path)

    assert [chunk.text for chunk in chunks] == ["corpus"]
    assert report.faults == ()


def test_field_types_are_learned_and_mixed_ones_are_not_offered(tmp_path: Path):
    records = [{"_id": "a", "text": "x", "n": 1, "m": 1, "t": ["a"]}, {"_id": "b", "text": "x", "n": 2.5, "m": "one"}]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    _, report = load(tmp_path / "c.jsonl")

    assert report.fields == {"n": FieldType.FLOAT, "t": FieldType.STRINGS}
    assert [(notice.line, notice.code) for notice in report.notices] == [(2, Code.MIXED_TYPES)]


def test_jsonl_in_utf_16_and_with_a_windows_line(tmp_path: Path):
    (tmp_path / "wide.jsonl").write_bytes('{"_id": "w", "text": "Grüße"}\n{"_id": "x", "text": "y"}'.encode("utf-16"))
    (tmp_path / "cut.jsonl").write_bytes('{"_id": "v", "text": "ok"}\n{"_id"'.encode("utf-16") + b"\x00")
    (tmp_path / "mixed.jsonl").write_bytes(
        b'\xef\xbb\xbf{"_id": "m", "text": "it\x92s"}\r\n\r\n{"_id": "n", "text": "\x81"}\n'
    )
    chunks, report = load(tmp_path)

    assert {chunk.chunk_id: chunk.text for chunk in chunks}["w"] == "Grüße"
    assert {(skipped.source, skipped.line, skipped.code) for skipped in report.skipped} == {
        ("cut.jsonl", 2, Code.UNDECODABLE),
        ("mixed.jsonl", 1, Code.UNDECODABLE),
        ("mixed.jsonl", 3, Code.UNDECODABLE),
    }


def test_a_line_over_the_limit_is_listed_and_the_next_one_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_LINE_BYTES", 100)
    text = f'{{"_id": "a", "text": "{"x" * 1_000}"}}\n{{"_id": "b", "text": "ok"}}\n'
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / f"{encoding}.jsonl").write_bytes(text.replace('"b"', f'"{encoding}"').encode(encoding))
    chunks, report = load(tmp_path)

    assert {chunk.chunk_id for chunk in chunks} == {"utf-8", "utf-16"}
    assert [(skipped.line, skipped.code) for skipped in report.skipped] == [(1, Code.TOO_LARGE)] * 2


def test_a_python_file_in_a_stated_encoding_and_a_broken_one(tmp_path: Path):
    (tmp_path / "latin.py").write_bytes(b'# -*- coding: latin-1 -*-\n"""Caf\xe9."""\n')
    (tmp_path / "broken.py").write_text("def broken(:\n    pass\n", encoding="utf-8")
    chunks, report = load(tmp_path)

    assert {chunk.chunk_id: chunk.text for chunk in chunks} == {
        "broken.py#1": "def broken(:\n    pass",
        "latin.py#1": "module latin\n\nCafé.",
    }
    assert [(notice.source, notice.code) for notice in report.notices] == [("broken.py", Code.NOT_PARSED)]


def test_the_list_is_bounded_and_the_counts_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_LISTED", 3)
    (tmp_path / "c.jsonl").write_text("bad\n" * 10, encoding="utf-8")
    _, report = load(tmp_path / "c.jsonl")

    assert len(report.skipped) == 3
    assert report.counts == {Code.BAD_JSON: 10}


def test_pictures_by_the_thousand_hide_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fanfuse_indexing.limits.MAX_LISTED", 3)
    for number in range(10):
        (tmp_path / f"a{number}.png").touch()
    (tmp_path / "b.csv").write_text("a,b", encoding="utf-8")
    _, report = load(tmp_path)

    assert [fault.source for fault in report.faults] == ["b.csv"]
    assert (report.left_out, len(report.skipped)) == (1, 4)
    assert report.fault_counts == {Code.UNSUPPORTED: 1}


def test_the_heading_of_a_section_is_a_field(tmp_path: Path):
    (tmp_path / "a.md").write_text("Before\n\n# One\ntext\n## Two\ntext", encoding="utf-8")
    chunks, report = load(tmp_path)

    assert [chunk.metadata.get("heading") for chunk in chunks] == [None, "One", "Two"]
    assert report.fields["heading"] is FieldType.STRING


def test_nothing_at_the_path_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        Loading(tmp_path / "missing")


def test_a_named_file_of_an_unknown_type_is_a_fault(tmp_path: Path):
    (tmp_path / "picture.png").write_bytes(b"x")

    assert [fault.code for fault in load(tmp_path / "picture.png")[1].faults] == [Code.UNSUPPORTED]


def test_progress_ends_at_the_total(tmp_path: Path):
    (tmp_path / "a.md").write_text("text", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"_id": "1", "text": "x"}', encoding="utf-8")
    loading = Loading(tmp_path)
    list(loading)

    assert loading.bytes_read == loading.total_bytes() > 0


def test_real_project_files_load_without_a_fault(repository: Path):
    chunks, report = load(repository / "contracts")

    assert report.loaded > 15
    assert "src/fanfuse_contracts/tokens.py#check_token" in {chunk.chunk_id for chunk in chunks}
    assert [fault for fault in report.faults if not fault.source.endswith(".toml")] == []


def test_memory_does_not_grow_with_the_source(tmp_path: Path):
    with (tmp_path / "c.jsonl").open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"_id": str(n), "text": f"{n} {'text ' * 400}"}) + "\n" for n in range(800))
    loading = Loading(tmp_path / "c.jsonl")
    tracemalloc.start()
    count = sum(1 for _ in loading)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 800
    assert loading.bytes_read > 1_600_000
    assert peak < 500_000
