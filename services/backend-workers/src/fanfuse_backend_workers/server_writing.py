"""Writes one generation of a corpus to an engine server: made, filled in batches, found, counted.

In: chunks in a fixed order, and how many of them an earlier run has written. Out: a generation with the right count, or
a typed failure; what was acknowledged stays for the next run. It never touches another generation, and publishes
nothing.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from fanfuse_backend_workers.domain.batches import Acknowledged, Batch, batches
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import IndexKey, IndexShape, ServerBackend
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_runtime.logs import get_logger

T = TypeVar("T")

BATCHES_AT_ONCE: Final = 4
RETRY_FOR_S: Final = 60.0
"""How long one call is tried again before the run fails."""
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0

_log = get_logger("backend-workers.writing")


@dataclass(frozen=True, slots=True)
class Contents:
    """What a generation is to hold. `chunks_from(n)`: the chunks but the first `n`, in an order that never changes."""

    key: IndexKey
    shape: IndexShape
    total: int
    chunks_from: Callable[[int], Iterable[Chunk]]


async def write_generation(
    server: ServerBackend,
    contents: Contents,
    done: int,
    acknowledged: Callable[[int], None],
    retry_for_s: float = RETRY_FOR_S,
) -> None:
    """Write what is not written yet. `done`: chunks that an earlier run wrote; `acknowledged` is told their number.

    Raises `SearchError`; CONFIG where the server holds another number of chunks than were written.
    """

    async def patient(call: Callable[[], Awaitable[T]]) -> T:
        return await retried(call, retry_for_s)

    key = contents.key
    await patient(lambda: server.ensure(key, contents.shape))
    if done:
        # What the server lost since is written again; a chunk written twice is there once.
        await patient(lambda: server.refresh(key))
        done = done if await patient(lambda: server.count(key)) >= done else 0
    acknowledged(done)
    await _write_batches(server, contents, done, acknowledged, retry_for_s)
    await patient(lambda: server.refresh(key))
    found = await patient(lambda: server.count(key))
    if found != contents.total:
        acknowledged(0)
        message = f"it holds {found} chunks of {contents.total}: run the command again, it writes all of them anew"
        raise SearchError(FailureKind.CONFIG, message)


async def retried(call: Callable[[], Awaitable[T]], for_s: float) -> T:
    """The result of a call, tried again with growing, random pauses while the server is away or overloaded."""
    deadline = time.monotonic() + for_s
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return await call()
        except SearchError as error:
            if not error.kind.counts_against_backend or time.monotonic() + pause_s > deadline:
                raise
            _log.info("write.again", failure=error.kind.value, error=error.message)
        # Jitter keeps the batches of one run from coming back all at once.
        await asyncio.sleep(random.uniform(pause_s / 2, pause_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


async def _write_batches(
    server: ServerBackend, contents: Contents, done: int, acknowledged: Callable[[int], None], retry_for_s: float
) -> None:
    stream = batches(_bare(contents.chunks_from(done), server), done)
    written = Acknowledged(done)
    slots = asyncio.Semaphore(BATCHES_AT_ONCE)

    async def write(batch: Batch) -> None:
        try:
            await retried(lambda: server.upsert(contents.key, batch.chunks), retry_for_s)
            acknowledged(written.take_in(batch))
        finally:
            slots.release()

    try:
        async with asyncio.TaskGroup() as writing:
            while batch := await asyncio.to_thread(lambda: next(stream, None)):
                await slots.acquire()
                writing.create_task(write(batch))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


def _bare(chunks: Iterable[Chunk], server: ServerBackend) -> Iterator[Chunk]:
    """Without vectors where nothing searches them."""
    for chunk in chunks:
        yield chunk if server.kind is Kind.VECTOR else chunk.model_copy(update={"vector": None})
