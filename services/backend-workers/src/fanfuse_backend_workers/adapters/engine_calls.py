"""Runs a blocking engine call outside the event loop, with a time limit and typed errors."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

T = TypeVar("T")


async def call_engine(call: Callable[[], T], timeout_s: float, errors: tuple[type[Exception], ...]) -> T:
    """Result of `call()` in a thread. Raises `SearchError`: TIMEOUT, or UNAVAILABLE for the engine's own `errors`.

    A call that is over its time runs on in its thread; its result is thrown away.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await asyncio.to_thread(call)
    except TimeoutError as error:
        raise SearchError(FailureKind.TIMEOUT, f"no answer within {timeout_s:.3f} s") from error
    except SearchError:
        raise
    except errors as error:
        raise SearchError(FailureKind.UNAVAILABLE, f"the engine failed: {type(error).__name__}") from error
