"""Texts of the winners: one request per corpus, answered by any worker that stores them.

A request is lost with the worker that took it, so silence is not waited out: another worker is asked.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import ValidationError

from fanfuse_contracts import flow, subjects
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError, RequestTimeoutError
from fanfuse_runtime.logs import get_logger

FIRST_PATIENCE_S: Final = 0.25
"""Far over the slowest fetch of a busy fuser. Doubled each time, so that slow workers are not flooded."""

_log = get_logger("fuser.texts")


class BusTexts:
    """Asks on `chunks.get.<tenant>.<corpus>`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def fetch(self, tenant: str, corpus: str, chunk_ids: Sequence[str], timeout_s: float) -> ChunksReply | None:
        """None where nobody answers in time, or what came is not a reply: the texts are then named as missing."""
        request = ChunksRequest(chunk_ids=tuple(chunk_ids))
        error: Exception | None = None
        for patience_s in patience(timeout_s):
            try:
                data = await self._bus.request(flow.CHUNKS, subjects.chunks_get(tenant, corpus), request, patience_s)
                return ChunksReply.from_json(data)
            except RequestTimeoutError as silence:
                error = silence
            except (BusError, ValidationError) as refused:
                error = refused
                break
        _log.warning("fuser.texts_missing", corpus=corpus, error=type(error).__name__)
        return None


def patience(timeout_s: float) -> Iterator[float]:
    """How long each try waits, in seconds: together the whole timeout, the last try the longest."""
    wait_s = FIRST_PATIENCE_S
    while timeout_s >= 2 * wait_s:
        yield wait_s
        timeout_s -= wait_s
        wait_s *= 2
    yield timeout_s
