"""A router in a process of its own that says when it knows of a state, and when it is connected again.

`python -m tests.flow.telling_router` writes lines `<what> <number> <monotonic seconds>` beside its logs: `knows` with
the state's version, `connected` with the number of connections that came back. On one machine the clock is the test's.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fanfuse_contracts.health import BackendState
from fanfuse_corpus_router.service import build as build_router
from fanfuse_runtime.context import Context
from fanfuse_runtime.process import main
from fanfuse_runtime.service import Service

KNOWS, CONNECTED = "knows", "connected"
_LINE = re.compile(rf"^({KNOWS}|{CONNECTED}) (\d+) (\d+\.\d+)$", re.MULTILINE)
_LOOK_EVERY_S = 0.002


class Told(NamedTuple):
    """One line."""

    what: str
    number: int
    at_s: float


def told(log: Path) -> Iterator[Told]:
    """What a router said so far."""
    for what, number, at_s in _LINE.findall(log.read_text(errors="replace")):
        yield Told(what, int(number), float(at_s))


def _say(what: str, number: int) -> None:
    sys.stdout.write(f"{what} {number} {time.monotonic():.4f}\n")
    sys.stdout.flush()


def build(context: Context) -> Service:
    """The shipped router, listened to."""

    def on_change(_key: str, state: BackendState | None) -> None:
        if state is not None:
            _say(KNOWS, state.version)

    async def watch() -> None:
        client, number, before = context.bus.nc, 0, True
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            if client.is_connected and not before:
                number += 1
                _say(CONNECTED, number)
            before = client.is_connected

    context.backends.on_change(on_change)
    router = build_router(context)
    return replace(router, background=(*router.background, watch))


if __name__ == "__main__":
    main(build)
