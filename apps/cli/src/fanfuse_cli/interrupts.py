"""Runs a coroutine so that SIGTERM ends it as Ctrl-C does: everything it opened is closed."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


def run_until_signal(work: Coroutine[object, object, T]) -> T:
    """The result; raises `KeyboardInterrupt` after SIGINT or SIGTERM, when the work has cleaned up."""

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
