"""Finds the files to load. In: a file or folder. Out: regular files of a known format and a fitting size, in one stable
order; everything else goes to the ledger by name. Opens nothing, follows no link to a folder (so no loop, no way out).
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanfuse_indexing import limits
from fanfuse_indexing.formats import Format, format_of, holds_text
from fanfuse_indexing.report import Code, Ledger

_COLLECTION = ("corpus.jsonl", "queries.jsonl")
"""A folder with these is in BEIR form: its queries are not documents."""
_PASSED_OVER = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to load. `name`: its path below the folder that was given, with '/', in valid Unicode."""

    path: Path
    name: str
    format: Format
    size: int


def source_files(root: Path, ledger: Ledger) -> Iterator[SourceFile]:
    """The files at or below `root`, by name. Raises `FileNotFoundError` if there is nothing at `root`."""
    if not stat.S_ISDIR(root.stat().st_mode):
        yield from _admit(root, shown(root.name), ledger, named=True)
    elif all(root.joinpath(name).is_file() for name in _COLLECTION):
        ledger.skip(".", None, Code.PASSED_OVER, f"a test collection: of its files only {_COLLECTION[0]} is loaded")
        yield from _admit(root / _COLLECTION[0], _COLLECTION[0], ledger, named=True)
    else:
        yield from _walk(root, "", ledger)


def shown(name: str) -> str:
    """A file name as valid Unicode: undecodable bytes appear as `\\xNN`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _walk(folder: Path, prefix: str, ledger: Ledger) -> Iterator[SourceFile]:
    pending = [(folder, prefix)]
    while pending:
        folder, prefix = pending.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            ledger.skip(prefix or ".", None, Code.UNREADABLE, _reason(error))
            continue
        folders = []
        for entry in entries:
            name = prefix + shown(entry.name)
            if _is_folder_link(entry):
                ledger.skip(
                    name, None, Code.LINK, "a link to a folder is not followed: index its target by its own path"
                )
            elif not entry.is_dir(follow_symlinks=False):
                yield from _admit(Path(entry.path), name, ledger, named=False)
            elif _is_passed_over(entry):
                ledger.skip(f"{name}/", None, Code.PASSED_OVER, "a hidden or generated folder")
            else:
                folders.append((Path(entry.path), f"{name}/"))
        pending.extend(reversed(folders))


def _is_passed_over(folder: os.DirEntry[str]) -> bool:
    return folder.name.startswith(".") or folder.name in _PASSED_OVER or Path(folder.path, "pyvenv.cfg").exists()


def _is_folder_link(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:
        return False


def _admit(path: Path, name: str, ledger: Ledger, *, named: bool) -> Iterator[SourceFile]:
    """The file, if it can be loaded. `named`: the caller asked for exactly this file."""
    file_format = format_of(path.name)
    if file_format is None:
        complaint = named or holds_text(path.name)
        code = Code.UNSUPPORTED if complaint else Code.PASSED_OVER
        ledger.skip(name, None, code, f"files of type {path.suffix or 'without a suffix'!r} are not loaded")
        return
    try:
        state = path.stat()
    except OSError as error:
        ledger.skip(name, None, Code.UNREADABLE, _reason(error))
        return
    if not stat.S_ISREG(state.st_mode):
        ledger.skip(name, None, Code.UNREADABLE, "not a regular file")
    elif state.st_size == 0:
        code = Code.PASSED_OVER if path.name == "__init__.py" else Code.NO_TEXT
        ledger.skip(name, None, code, "the file is empty")
    elif state.st_size > limits.MAX_FILE_BYTES[file_format]:
        ledger.skip(name, None, Code.TOO_LARGE, _too_large(state.st_size, file_format))
    else:
        yield SourceFile(path, name, file_format, state.st_size)


def _too_large(size: int, file_format: Format) -> str:
    most = limits.MAX_FILE_BYTES[file_format]
    return f"{size:,} bytes: at most {most:,} are read of a {file_format.value} file"


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
