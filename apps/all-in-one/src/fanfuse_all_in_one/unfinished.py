"""What an index run has written to servers, in a file beside the texts, so that the next run goes on from there.

In: a corpus's folder. Out: one record, or none. It is a note of work, never of what is served: a record that can't be
read, or of other contents, only means that everything is written again.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_backend_workers.generations import CorpusName
from fanfuse_contracts.base import Written
from fanfuse_contracts.tokens import Token

_FILE: Final = "unfinished.json"
_LOCK: Final = ".servers.lock"


class Unfinished(Written):
    """One run."""

    format: Literal[1] = 1
    generation: Token
    digest: str
    """Of the contents: texts, vectors, fields and embedder."""
    done: dict[str, int] = {}
    """By server: chunks from the beginning that it acknowledged without a gap."""


@contextmanager
def one_run_at_a_time(data_dir: Path, name: CorpusName) -> Iterator[None]:
    """No other command changes this corpus on servers meanwhile; the lock dies with its process."""
    folder = data_dir.joinpath(*name)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OperatorError(f"another command changes {'/'.join(name)}: wait for it to end") from error
        yield


def read_unfinished(folder: Path) -> Unfinished | None:
    """The record of a run that did not end."""
    try:
        return Unfinished.from_json((folder / _FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write_unfinished(folder: Path, record: Unfinished) -> None:
    """Replace the record in one step."""
    beside = folder / f"{_FILE}.new"
    beside.write_bytes(record.to_json())
    os.replace(beside, folder / _FILE)


def remove_unfinished(folder: Path) -> None:
    """The run has ended."""
    (folder / _FILE).unlink(missing_ok=True)
