"""Installed packages as a corpus: summary, README and requirements as their metadata states them."""

from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

from fanfuse_all_in_one.demo_packages import MAX_CHUNKS, MAX_TEXT_CHARS, package_chunks, requirements

METADATA = """Metadata-Version: 2.4
Name: Sample_Pkg
Version: 1.0
Summary: Does a thing
License-Expression: MIT
Requires-Dist: numpy>=2
Requires-Dist: Other.Name (>1) ; python_version > "3"
Requires-Dist: sphinx; extra == "docs"
Description-Content-Type: text/markdown

# Sample
[![badge](https://example.org/b.svg)](https://example.org)
<p align="center">It works.</p>

## Install
pip install sample-pkg
"""


def package(folder: Path, text: str = METADATA) -> Distribution:
    folder = folder / "sample_pkg-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(text, encoding="utf-8")
    return PathDistribution(folder)


def test_summary_requirements_and_readme(tmp_path: Path):
    chunks = list(package_chunks([package(tmp_path)]))

    assert [chunk.chunk_id for chunk in chunks] == ["sample-pkg", "sample-pkg#sample", "sample-pkg#sample/install"]
    assert chunks[0].text == "Does a thing\nsample-pkg requires numpy, other-name."
    assert [(triple.relation, triple.object) for triple in chunks[0].triples] == [
        ("REQUIRES", "numpy"),
        ("REQUIRES", "other-name"),
    ]
    assert chunks[0].entities == ("sample-pkg", "numpy", "other-name")
    assert {tuple(chunk.metadata.items()) for chunk in chunks} == {(("name", "sample-pkg"), ("license", "MIT"))}
    assert "It works." in chunks[1].text
    assert "svg" not in chunks[1].text
    assert "<p" not in chunks[1].text
    assert chunks[2].title == "sample-pkg › Sample › Install"


def test_a_package_that_states_nothing_but_its_name(tmp_path: Path):
    chunks = list(package_chunks([package(tmp_path, "Metadata-Version: 2.1\nName: bare\nVersion: 1\n")]))

    assert [(chunk.chunk_id, chunk.text) for chunk in chunks] == [("bare", "bare has no summary.")]
    assert chunks[0].metadata["license"] == "unknown"


def test_a_licence_in_full_gives_way_to_the_classifier(tmp_path: Path):
    text = "Metadata-Version: 2.1\nName: x\nVersion: 1\nLicense: Line one\n        Line two\n"
    text += "Classifier: License :: OSI Approved :: Zlib\n"

    assert next(package_chunks([package(tmp_path, text)])).metadata["license"] == "Zlib"


def test_requirements_of_extras_do_not_count(tmp_path: Path):
    assert requirements(package(tmp_path)) == ("numpy", "other-name")


def test_installed_packages_are_bounded_unique_and_not_our_own():
    chunks = list(package_chunks())
    ids = {chunk.chunk_id for chunk in chunks}

    assert {"pydantic", "pytest", "numpy"} <= ids
    assert len(ids) == len(chunks) <= MAX_CHUNKS
    assert max(len(chunk.text) for chunk in chunks) <= MAX_TEXT_CHARS
    assert not [chunk_id for chunk_id in ids if chunk_id.startswith("fanfuse")]
