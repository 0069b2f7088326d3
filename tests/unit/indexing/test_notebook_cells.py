"""Notebooks: text by headings, code whole and under its heading, outputs left out, whatever the version."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_indexing import Code, Loading
from fanfuse_indexing.documents import Piece
from fanfuse_indexing.extracted import ExtractionError
from fanfuse_indexing.notebooks import read


def cell(kind: str, source: str | list[str], **other: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": {}, **other}


def code(source: str | list[str]) -> dict[str, Any]:
    output = {"output_type": "stream", "name": "stdout", "text": ["an output"]}
    return cell("code", source, execution_count=1, outputs=[output])


def notebook(*cells: object, **other: Any) -> bytes:
    facts = {"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": cells, **facts, **other}).encode()


def pieces(data: bytes) -> list[Piece]:
    return list(read(data, "n.ipynb").pieces)


def test_text_by_headings_and_code_under_them():
    found = pieces(
        notebook(
            cell("markdown", ["# Analysis\n", "What we do."]),
            code("import pandas"),
            cell("markdown", "## Load"),
            code(["frame = read()\n", "frame.head()"]),
            code("frame.tail()"),
            cell("markdown", "That was all.\n\n# Next"),
            cell("markdown", "More to come."),
        )
    )

    assert [(piece.fragment, piece.title, piece.text) for piece in found] == [
        ("analysis", "Analysis", "# Analysis\nWhat we do."),
        ("analysis/code", "Analysis", "import pandas"),
        ("analysis/load/code", "Analysis › Load", "## Load\n\nframe = read()\nframe.head()"),
        ("analysis/load/code", "Analysis › Load", "frame.tail()"),
        ("analysis/load", "Analysis › Load", "That was all."),
        ("next", "Next", "# Next\n\nMore to come."),
    ]
    assert found[2].metadata == {"cell_type": "code", "heading": "Load", "language": "python"}
    assert found[5].metadata == {"cell_type": "markdown", "heading": "Next"}


def test_code_stays_whole_up_to_a_limit(tmp_path: Path):
    long, longer = ("\n\n".join(f"x = {n}" for n in range(count)) for count in (600, 2_000))
    (tmp_path / "n.ipynb").write_bytes(notebook(code(long), code(longer)))
    loading = Loading(tmp_path)
    chunks = list(loading)

    assert len(long) > 4_000
    assert chunks[0].text == long
    assert len(chunks) > 5
    assert "".join("".join(chunk.text.split()) for chunk in chunks[1:]) == "".join(longer.split())
    assert [notice.code for notice in loading.report.notices] == [Code.SPLIT]


@pytest.mark.parametrize(
    "old",
    [
        {
            "nbformat": 3,
            "worksheets": [
                {
                    "cells": [
                        {"cell_type": "heading", "level": 2, "source": "Old"},
                        {"cell_type": "markdown", "source": ["text"]},
                        {"cell_type": "code", "input": ["run()"], "outputs": [{"text": "an output"}]},
                    ]
                }
            ],
        },
        {"cells": [{"cell_type": "text", "text": "## Old\n\ntext"}, {"cell_type": "code", "input": "run()"}]},
    ],
)
def test_older_versions(old: dict[str, Any]):
    found = pieces(json.dumps(old).encode())

    assert [(piece.title, piece.text) for piece in found] == [("Old", "## Old\n\ntext"), ("Old", "run()")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding: str):
    data = json.dumps({"cells": [cell("markdown", "Grüße")]}, ensure_ascii=False).encode(encoding)

    assert [piece.text for piece in pieces(data)] == ["Grüße"]


def test_what_is_no_cell_is_reported_and_the_others_are_loaded():
    found = read(
        notebook(cell("markdown", "good"), {"cell_type": 7}, "text", {"cell_type": "code", "source": [1]}), "n"
    )

    assert [piece.text for piece in found.pieces] == ["good"]
    assert [(finding.code, finding.left_out) for finding in found.findings] == [(Code.BAD_RECORD, True)]
    assert found.findings[0].reason.startswith("3 of 4 cells")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (notebook(cell("markdown", "text"))[:-9], Code.BAD_JSON),
        (b"{}", Code.BAD_RECORD),
        (b"[]", Code.BAD_RECORD),
        (b'{"cells": ' + b"9" * 5_000 + b"}", Code.BAD_JSON),
        (b"\x00\x01", Code.UNDECODABLE),
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes, expected: Code):
    with pytest.raises(ExtractionError) as refused:
        read(data, "n")

    assert refused.value.refusal.code is expected


def test_a_notebook_of_outputs_has_no_text(tmp_path: Path):
    (tmp_path / "n.ipynb").write_bytes(notebook(code("  \n")))
    loading = Loading(tmp_path)

    assert list(loading) == []
    assert [fault.code for fault in loading.report.faults] == [Code.NO_TEXT]


def test_odd_facts_are_no_fault():
    odd = notebook(
        cell("markdown", "text \ud800"), cell("raw", "as it is"), metadata={"kernelspec": ["x"]}, nbformat="9"
    )

    assert [(piece.text, piece.metadata) for piece in pieces(odd)] == [
        ("text �\n\nas it is", {"cell_type": "markdown"})
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["cells", "worksheets", "cell_type", "source", "input", "level", "metadata", "kernelspec"]),
            inner | st.sampled_from(["code", "markdown", "heading"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(value=_JSON)
def test_any_json_is_read_or_refused(value: object):
    data = json.dumps({"cells": value} if isinstance(value, list) else value).encode()
    refusal = None
    try:
        found = read(data, "n").pieces
    except ExtractionError as refused:
        found, refusal = (), refused.refusal

    assert all(piece.text.strip() for piece in found)
    assert refusal is None or refusal.left_out
