"""The reading process. In: requests, one a line, on standard input. Out: one line of what was found for each.

It opens files that others made with parsers that may fail in any way, so it has limits of memory and time of its own
and talks to nobody but the process that started it. It ends with its input.
"""

import importlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Final

from fanfuse_indexing import limits
from fanfuse_indexing.extracted import Extracted, ExtractionError, Finding, Request
from fanfuse_indexing.formats import Format
from fanfuse_indexing.report import Code

Reader = Callable[[bytes, str], Extracted]

_READERS: Final[Mapping[Format, str]] = {
    Format.PDF: "fanfuse_indexing.pdf_pages",
    Format.HTML: "fanfuse_indexing.web_pages",
    Format.DOCX: "fanfuse_indexing.word_files",
    Format.NOTEBOOK: "fanfuse_indexing.notebooks",
}
"""Modules with `read(data, name) -> Extracted`; loaded when first asked for."""


def main() -> None:
    """Answer until the input ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what a parser prints is no reply
    _bound_memory()
    for line in sys.stdin.buffer:
        _bound_time(int(limits.MAX_EXTRACT_SECONDS) + 5)
        replies.write(answer(Request.from_line(line)).to_line())
        replies.flush()
        _bound_time(0)


def answer(request: Request) -> Extracted:
    """Read one file. What can't be read is a refusal."""
    read: Reader = importlib.import_module(_READERS[request.format]).read
    try:
        return read(_content(request), request.name)
    except ExtractionError as error:
        return Extracted(refusal=error.refusal)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (MemoryError, RecursionError):
        reason = f"reading it takes over {limits.MAX_EXTRACT_MEMORY_BYTES:,} bytes, or it is nested too deeply"
    return Extracted(refusal=Finding(Code.UNREADABLE, reason, left_out=True))


def _content(request: Request) -> bytes:
    most = limits.MAX_FILE_BYTES[request.format]
    with request.file().open("rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise ExtractionError(Code.TOO_LARGE, f"it grew over {most:,} bytes while it was read")
    return data


def _bound_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    most = limits.MAX_EXTRACT_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _bound_time(seconds: int) -> None:
    """End by itself where the other process is no longer there to end it; 0: not before the next file."""
    if sys.platform != "win32":
        signal.alarm(seconds)


if __name__ == "__main__":
    main()
