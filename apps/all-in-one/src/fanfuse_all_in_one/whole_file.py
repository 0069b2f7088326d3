"""A file that is replaced whole or not at all. In: a path and what shall be in it. Out: the file; never a part."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes are the file's when the block ends well; else the file stays as it was. Raises `OSError`.

    A link stays one, and what it leads to is replaced. A device or a pipe is written to: whoever may would else put a
    file in the place of `/dev/null`.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    target = path.resolve()
    beside = target.with_name(f".{target.name}.new")
    try:
        with beside.open("wb") as stream:
            yield stream
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Put a text into the file in one step. Raises `OSError`."""
    with whole_file(path) as stream:
        stream.write(text.encode())
