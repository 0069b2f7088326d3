"""Chunk ids are unique, depend on their own document alone, and a short record keeps its own id."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from fanfuse_contracts.chunks import content_hash
from fanfuse_indexing.chunking import chunks_of, cut_title, module_name, slug
from fanfuse_indexing.documents import Document
from fanfuse_indexing.formats import Format
from fanfuse_indexing.reading import document_id_of


def document(text: str, kind: Format = Format.MARKDOWN, name: str = "guide.md", title: str = "guide.md") -> Document:
    return Document(document_id=name, title=title, text=text, source=name, format=kind)


def ids(text: str, kind: Format = Format.MARKDOWN, name: str = "guide.md") -> list[str]:
    return [chunk.chunk_id for chunk in chunks_of(document(text, kind, name))]


def test_ids_are_heading_paths_with_parts_and_ordinals():
    text = f"intro\n\n# Guide\n{'word ' * 700}\n## Setup\none\n## Setup\ntwo\n## 1\nthree\n## 安装\nfour"

    assert ids(text) == [
        "guide.md#1",
        "guide.md#guide",
        "guide.md#guide~2",
        "guide.md#guide~3",
        "guide.md#guide/setup",
        "guide.md#guide/setup-2",
        "guide.md#guide/1",
        "guide.md#guide/安装",
    ]


def test_an_ordinal_never_takes_the_id_of_a_heading():
    assert len(set(ids("intro\n\n# 1\nx\n# 1\ny\n# 1-2\nz"))) == 4


def test_an_edit_in_one_section_leaves_the_ids_of_others():
    before = ids("# A\none\n# B\ntwo\n# C\nthree")
    after = ids(f"# A\n{'long ' * 900}\n# B\ntwo\n# C\nthree")

    assert before == ["guide.md#a", "guide.md#b", "guide.md#c"]
    assert set(before) <= set(after)


HEADINGS = st.lists(st.tuples(st.integers(1, 3), st.text(max_size=8), st.integers(0, 900)), max_size=12)


@settings(deadline=None, max_examples=60)
@given(parts=HEADINGS)
def test_ids_are_unique_and_repeatable_and_no_text_is_lost(parts: list[tuple[int, str, int]]):
    text = "".join(f"{'#' * level} {title}\n\n{'body ' * words}\n\n" for level, title, words in parts)
    text = text.replace("\x00", "").replace("\r", "")
    chunks = list(chunks_of(document(text)))

    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    assert chunks == list(chunks_of(document(text)))
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(text.split())
    assert all(len(chunk.text) <= 2_000 and len(chunk.title) <= 200 for chunk in chunks)


def test_a_record_keeps_its_id_up_to_20000_characters():
    assert ids("x " * 10_000, Format.JSONL, "doc-1") == ["doc-1"]
    assert ids("x " * 10_001, Format.JSONL, "doc-1")[:2] == ["doc-1#1", "doc-1#2"]


def test_titles_are_heading_paths_and_the_closest_heading_survives_the_cut():
    assert next(chunks_of(document("# A\n## B\ntext"))).title == "A › B"
    assert cut_title("far " * 100 + "near").endswith("near")
    assert len(cut_title("x" * 500)) == 200


def test_the_hash_is_over_title_and_text():
    chunk = next(chunks_of(document("# A\ntext")))

    assert chunk.content_hash == content_hash("A", "# A\ntext") != content_hash("B", "# A\ntext")
    assert re.fullmatch(r"[0-9a-f]{16}", chunk.content_hash)


def test_document_ids_of_odd_file_names():
    assert document_id_of("a\nb/🙂.md") == "a%0Ab/🙂.md"
    assert len(document_id_of("x" * 900 + ".md")) == 380
    assert document_id_of("x" * 900 + "1.md") != document_id_of("x" * 900 + "2.md")


def test_slugs_and_module_names():
    assert (slug("Hello, World!"), slug("???"), slug("Größe_2")) == ("hello-world", "section", "grösse-2")
    assert module_name("services/fuser/src/fanfuse_fuser/domain/__init__.py") == "fanfuse_fuser.domain"
    assert (module_name("tool.py"), module_name("__init__.py")) == ("tool", "__init__")


def test_a_very_long_heading_path_still_makes_a_valid_id():
    text = "".join(f"{'#' * level} {'heading ' * 30}{level}\n\ntext\n\n" for level in range(1, 7))
    chunks = list(chunks_of(document(text, name="n" * 380)))

    assert len({chunk.chunk_id for chunk in chunks}) == 6
    assert max(len(chunk.chunk_id) for chunk in chunks) <= 512
