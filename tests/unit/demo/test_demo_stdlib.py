"""The standard library as a corpus: real symbols, a graph that hangs together, nothing imported."""

import sys
from pathlib import Path

import pytest

from fanfuse_all_in_one.demo_stdlib import MAX_SYMBOLS, MAX_TEXT_CHARS, stdlib_chunks
from fanfuse_contracts.chunks import Chunk


@pytest.fixture(scope="module")
def chunks() -> dict[str, Chunk]:
    return {chunk.chunk_id: chunk for chunk in stdlib_chunks()}


def edges(chunk: Chunk) -> set[tuple[str, str]]:
    return {(triple.relation, triple.object) for triple in chunk.triples}


def test_bounded_in_number_and_size(chunks: dict[str, Chunk]):
    assert 1_000 <= len(chunks) <= MAX_SYMBOLS
    assert max(len(chunk.text) for chunk in chunks.values()) <= MAX_TEXT_CHARS


def test_symbols_have_their_kind_text_and_parent(chunks: dict[str, Chunk]):
    join = chunks["os.path.join"]

    assert join.text.startswith("def join(a, *p)\nJoin two or more pathname components")
    assert join.metadata == {"module": "os.path", "kind": "function", "has_example": False}
    assert ("CONTAINS", "os.path.join") in edges(join)
    assert chunks["pathlib.Path"].metadata["kind"] == "class"
    assert ("EXTENDS", "PurePath") in edges(chunks["pathlib.Path"])
    assert chunks["textwrap.shorten"].metadata["has_example"] is True


def test_an_exception_without_a_docstring_is_there(chunks: dict[str, Chunk]):
    assert chunks["zipfile.BadZipFile"].text == "class BadZipFile(Exception)"
    assert chunks["zipfile.BadZipFile"].entities == ("zipfile.BadZipFile", "BadZipFile")


def test_references_lead_to_symbols_of_the_corpus(chunks: dict[str, Chunk]):
    references = [t for chunk in chunks.values() for t in chunk.triples if t.relation == "REFERS_TO"]

    assert len(references) > 200
    assert {triple.object for triple in references} <= set(chunks)
    assert all(triple.subject != triple.object for triple in references)
    assert all(triple.object in chunks[triple.subject].entities for triple in references)


def test_two_runs_are_equal_and_nothing_is_imported(chunks: dict[str, Chunk]):
    before = set(sys.modules)

    assert {chunk.chunk_id: chunk for chunk in stdlib_chunks()} == chunks
    assert set(sys.modules) == before


def test_a_module_is_read_and_never_run(tmp_path: Path):
    source = '"""Paths, which see `getcwd_now` and os.walk_all for more of it."""\nraise SystemExit\n'
    functions = "\n".join(
        f'def {name}(x):\n    """Does {name} with x, quite thoroughly and fast."""'
        for name in ("walk_all", "getcwd_now", "_own")
    )
    (tmp_path / "os.py").write_text(source + functions, encoding="utf-8")
    found = {chunk.chunk_id: chunk for chunk in stdlib_chunks(tmp_path)}

    assert set(found) == {"os", "os.walk_all", "os.getcwd_now"}
    assert edges(found["os"]) == {("REFERS_TO", "os.getcwd_now"), ("REFERS_TO", "os.walk_all")}


def test_an_interpreter_without_sources_gives_nothing(tmp_path: Path):
    assert list(stdlib_chunks(tmp_path)) == []
