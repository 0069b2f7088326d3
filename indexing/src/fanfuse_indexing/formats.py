"""The formats that can be loaded. In: a file name. Out: its format, if it has one; opens no file."""

from enum import StrEnum
from pathlib import PurePath


class Format(StrEnum):
    """How a file is read and cut."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"
    TEXT = "text"
    RST = "rst"
    PYTHON = "python"
    PDF = "pdf"
    HTML = "html"
    DOCX = "docx"
    NOTEBOOK = "notebook"


EXTRACTED = frozenset({Format.PDF, Format.HTML, Format.DOCX, Format.NOTEBOOK})
"""Read in a process of its own, see `fanfuse_indexing.extraction`."""

_BY_SUFFIX = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".txt": Format.TEXT,
    ".text": Format.TEXT,
    ".rst": Format.RST,
    ".py": Format.PYTHON,
    ".pyi": Format.PYTHON,
    ".pdf": Format.PDF,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xhtml": Format.HTML,
    ".docx": Format.DOCX,
    ".ipynb": Format.NOTEBOOK,
}
_TEXT_BY_CUSTOM = frozenset(
    ("readme", "license", "licence", "copying", "notice", "authors", "changelog", "changes", "contributing", "news")
)
_TEXT_SUFFIXES = (
    ".doc .odt .rtf .xml .epub .ppt .pptx .xls .xlsx .csv .tsv .tex .adoc .org .eml .msg .gz .zip .tar .xz .bz2 .7z"
)
_HOLDS_TEXT = frozenset(_TEXT_SUFFIXES.split())


def format_of(name: str) -> Format | None:
    """The format of a file by its name; None: it is not loaded."""
    path = PurePath(name)
    known = _BY_SUFFIX.get(path.suffix.lower())
    if known is None and not path.suffix and path.name.lower() in _TEXT_BY_CUSTOM:
        return Format.TEXT
    return known


def holds_text(name: str) -> bool:
    """True if a file that is not loaded probably holds text, so that leaving it out is worth a complaint."""
    return PurePath(name).suffix.lower() in _HOLDS_TEXT
