"""Reads PDF, HTML, DOCX and notebooks in a process of its own. In: a path and its format. Out: `Extracted`.

A file that makes its parser hang, crash or eat memory costs that file and nothing else: the process is ended, the file
is reported, and the next file gets a new process. It ends with the run.
"""

import subprocess
import sys
from pathlib import Path
from threading import Event, Timer
from types import TracebackType
from typing import Self

from fanfuse_indexing import limits
from fanfuse_indexing.extracted import Extracted, Finding, Request
from fanfuse_indexing.formats import Format
from fanfuse_indexing.report import Code

_COMMAND = ("-P", "-m", "fanfuse_indexing.extraction_process")  # -P: never modules of the working directory


class Extraction:
    """One reading process, started at the first file. A context manager; for one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process:
            self._end(self._process)

    def read(self, path: Path, file_format: Format, name: str) -> Extracted:
        """The text of a file, or its refusal; takes at most `limits.MAX_EXTRACT_SECONDS`."""
        process = self._alive()
        late = Event()
        timer = Timer(limits.MAX_EXTRACT_SECONDS, _stop, (process, late))
        timer.start()
        line = _ask(process, Request.of(file_format, path, name))
        timer.cancel()
        timer.join()
        if late.is_set() or not line.endswith(b"\n"):
            return Extracted(refusal=_failure(self._end(process), line, late=late.is_set()))
        return Extracted.from_line(line)

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._process and self._process.poll() is not None:
            self._end(self._process)
        self._process = self._process or _started()
        return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """The exit status of the process: negative for a signal that ended it by itself."""
        self._process = None
        status = process.poll()
        process.kill()
        with process:
            return status if status is not None else process.wait()


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (sys.executable, *_COMMAND),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the run, which then ends this
    )


def _stop(process: subprocess.Popen[bytes], late: Event) -> None:
    late.set()
    process.kill()


def _ask(process: subprocess.Popen[bytes], request: Request) -> bytes:
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write(request.to_line())
        process.stdin.flush()
    except BrokenPipeError:
        return b""
    return process.stdout.readline(limits.MAX_EXTRACT_BYTES)


def _failure(status: int, line: bytes, *, late: bool) -> Finding:
    if late:
        reason = f"it could not be read within {limits.MAX_EXTRACT_SECONDS:g} s"
        return Finding(Code.TOO_SLOW, reason, left_out=True)
    if len(line) >= limits.MAX_EXTRACT_BYTES:
        reason = f"its text is over {limits.MAX_EXTRACT_BYTES:,} bytes"
        return Finding(Code.TOO_LARGE, reason, left_out=True)
    return Finding(Code.UNREADABLE, f"its parser ended with status {status}: damaged, or too large", left_out=True)
