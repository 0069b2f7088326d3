"""A file that is replaced whole or not at all. In: a path and a text. Out: the file; never a part of it."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace the file in one step. Raises `OSError`."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
