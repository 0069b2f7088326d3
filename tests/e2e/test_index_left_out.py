"""`fanfuse index` of files of which some cannot be read: those are named, the others can be filtered by their place."""

import json
from pathlib import Path

import pytest

from fanfuse_contracts.answer import Answer

pytestmark = pytest.mark.slow


def pdf(*pages: str) -> bytes:
    """A PDF with a line on each page."""
    kids = " ".join(f"{2 * place + 4} 0 R" for place in range(len(pages)))
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>"]
    objects.append("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    for place, line in enumerate(pages):
        text = f"BT /F 10 Tf 50 700 Td ({line}) Tj ET"
        resources = "/Resources<</Font<</F 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {2 * place + 5} 0 R{resources}>>")
        objects.append(f"<</Length {len(text)}>>stream\n{text}\nendstream")
    numbered = "\n".join(f"{number} 0 obj\n{body}\nendobj" for number, body in enumerate(objects, 1))
    return f"%PDF-1.4\n{numbered}\ntrailer<</Root 1 0 R>>\n%%EOF\n".encode()


@pytest.fixture(scope="module")
def manual(running, tmp_path_factory) -> Path:
    """A corpus of a PDF of two pages and a notebook."""
    folder: Path = tmp_path_factory.mktemp("manual")
    (folder / "manual.pdf").write_bytes(
        pdf("The pump starts with the green switch", "The pump stops with the red switch")
    )
    cells = [{"cell_type": "markdown", "source": "# Pumps\nA switch"}, {"cell_type": "code", "source": "pump.switch()"}]
    (folder / "pumps.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    said = running.must("index", str(folder), "--tenant", "acme", "--corpus", "manual", "--public")
    assert "indexed 2 documents as 4 chunks" in said
    return folder


def asked(running, **condition: object) -> Answer:
    done = running.call("ask", "pump switch", "--tenant", "acme", "--filter", json.dumps(condition), "--json")
    return Answer.from_json(done.stdout.encode())


def found(running, **condition: object) -> list[str]:
    return sorted(hit.chunk_id for hit in asked(running, **condition).hits)


def test_hits_are_filtered_by_page_file_and_heading(running, manual):
    assert found(running, field="page", op="eq", value=2) == ["manual.pdf#page-2"]
    assert found(running, field="path", op="eq", value="pumps.ipynb") == ["pumps.ipynb#pumps", "pumps.ipynb#pumps/code"]
    assert found(running, field="cell_type", op="eq", value="code") == ["pumps.ipynb#pumps/code"]
    assert len(found(running, field="heading", op="eq", value="Pumps")) == 2


def test_ing_01_what_is_left_out_is_named_counted_and_seen_in_the_exit_status(running, manual, tmp_path):
    """ING-01, ING-02: the good files are indexed all the same."""
    (tmp_path / "good.md").write_text("# Valves\nThe pump has a valve.")
    (tmp_path / "scan.pdf").write_bytes(pdf("", ""))
    (tmp_path / "cut.pdf").write_bytes(pdf("text")[:200])
    (tmp_path / "zero.pdf").touch()
    (tmp_path / "cut.ipynb").write_text('{"cells": [')
    done = running.fanfuse("index", str(tmp_path), "--tenant", "acme", "--corpus", "mixed", "--public")

    assert done.returncode == 1
    assert "indexed 1 documents as 1 chunks" in done.stdout
    for name in ("scan.pdf", "cut.pdf", "zero.pdf", "cut.ipynb"):
        assert f"  {name}: " in done.stderr
    assert "fanfuse: 4 left out (1 bad_json, 2 no_text, 1 unreadable)" in done.stderr


def test_of_unreadable_files_alone_each_is_named_and_the_corpus_stays(running, manual, tmp_path):
    for number in range(30):
        (tmp_path / f"broken{number:02}.pdf").write_bytes(b"no PDF")
    done = running.fanfuse("index", str(tmp_path), "--tenant", "acme", "--corpus", "manual")

    assert done.returncode == 2
    assert all(f"  broken{number:02}.pdf: not a PDF" in done.stderr for number in range(20))
    assert "  and 10 more remarks" in done.stderr
    assert "fanfuse: 30 left out (30 unreadable): there is no text to index" in done.stderr
    assert "Traceback" not in done.stderr
    assert found(running, field="page", op="eq", value=1) == ["manual.pdf#page-1"]
