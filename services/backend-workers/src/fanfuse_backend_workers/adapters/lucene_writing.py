"""Sends batches until every action in them is done, or can't be.

In: lines of the bulk API. Out: how many documents changed. What a server was too busy for is sent again, and nothing
else of the batch; a load outlasts a restart of the server. An error names its chunk and no text of it.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from fanfuse_backend_workers.adapters.lucene_calls import Call, Calls, Patience, pause_after
from fanfuse_backend_workers.adapters.lucene_documents import Line, batches
from fanfuse_backend_workers.adapters.lucene_failures import ServerError, failure
from fanfuse_contracts.enums import FailureKind

WRITING: Final = Patience(within_s=120.0, retries=30, pause_s=0.2, each_s=30.0, outlasts=True)
"""Of one batch, and of what makes or deletes an index."""
_REPLY: Final[Mapping[str, str]] = {"filter_path": "items.*.status,items.*.error"}


class _Outcome(NamedTuple):
    again: tuple[Line, ...]
    failure: ServerError | None
    done: int


class LuceneWriter:
    """Writes to the indexes of one server."""

    def __init__(self, calls: Calls, patience: Patience = WRITING) -> None:
        self._calls = calls
        self._patience = patience

    async def write(self, index: str, lines: Sequence[Line]) -> int:
        """Send all lines, batch by batch. Raises `ServerError`."""
        done = 0
        for batch in batches(lines):
            done += await self._write_batch(index, batch)
        return done

    async def _write_batch(self, index: str, batch: tuple[Line, ...]) -> int:
        deadline = time.monotonic() + self._patience.within_s
        done = 0
        attempt = 0
        while batch:
            attempt += 1
            call = Call("bulk", "POST", f"/{index}/_bulk", b"".join(line.data for line in batch), True, _REPLY)
            left = deadline - time.monotonic()
            outcome = _read(batch, await self._calls.ask(call, self._patience._replace(within_s=left)))
            batch = outcome.again
            done += outcome.done
            if outcome.failure is not None:
                pause = pause_after(outcome.failure, self._patience, attempt)
                if pause is None or time.monotonic() + pause > deadline:
                    raise outcome.failure
                await asyncio.sleep(pause)
        return done


def _read(batch: Sequence[Line], reply: Mapping[str, Any]) -> _Outcome:
    items = reply.get("items", ())
    if len(items) != len(batch):
        raise ServerError(FailureKind.UNAVAILABLE, "the server's reply to a batch does not fit the batch")
    again: list[Line] = []
    last: ServerError | None = None
    done = 0
    for line, item in zip(batch, items, strict=True):
        ((action, said),) = item.items()
        error = _error(action, said, line.chunk_id)
        if error is not None:
            last = error
            again.append(line)
        elif said.get("status") != 404:
            done += 1
    return _Outcome(tuple(again), last, done)


def _error(action: str, said: Mapping[str, Any], chunk_id: str) -> ServerError | None:
    """The failure of one action that may be sent again; raises one that may not. Deleting nothing is none."""
    status = int(said.get("status", 0))
    if 200 <= status < 300 or (action == "delete" and status == 404 and "error" not in said):
        return None
    error = failure(status, said)
    named = ServerError(error.kind, f"chunk {chunk_id!r}: {error.message}", again=error.again, cause=error.cause)
    if error.kind.counts_against_backend and error.again is not False:
        return named
    raise named
