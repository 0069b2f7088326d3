"""Which services of a data directory run in this process: each runs once per directory.

In: a data directory and the services to run. Out: nothing, or `OperatorError`. The kernel gives a lock back when the
process ends, however it ends; a file that is left behind locks nothing.
"""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts.enums import Stage


@contextmanager
def running(data_dir: Path, stages: Sequence[Stage]) -> Iterator[None]:
    """Run these services for the time of a block.

    Raises `OperatorError` where another process runs one of them on this directory: they would share its bus, and be
    left without one when that process ends.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        taken = [stage for stage in stages if not _locked(held.enter_context(_open(data_dir, stage)))]
        if taken:
            names = ", ".join(stage.value for stage in taken)
            what_to_do = "end it, use another --data, or choose others with --only"
            raise OperatorError(f"another fanfuse up runs {names} on {data_dir}: {what_to_do}")
        yield


def _open(data_dir: Path, stage: Stage) -> IO[str]:
    # No tenant can have this name, and each tenant has a folder beside it.
    return (data_dir / f"{stage.value}.lock").open("w")


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
