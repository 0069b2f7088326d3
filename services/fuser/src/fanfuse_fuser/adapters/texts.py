"""Texts of the winners: a request per corpus, answered by any worker that stores them.

A request is lost with the worker that took it, or waits with one that is frozen. So after a short pause another worker
is asked as well, and the first reply is taken (a hedged request: Dean and Barroso, "The tail at scale", CACM 2013).
"""

import asyncio
import time
from collections.abc import Collection, Sequence

from pydantic import ValidationError

from fanfuse_contracts import flow, subjects
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest
from fanfuse_fuser.domain.patience import Patience
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("fuser.texts")

_Asked = asyncio.Task[ChunksReply]


def _looked_at(one: _Asked) -> None:
    """The error of a request that lost the race is no news."""
    if not one.cancelled():
        one.exception()


class BusTexts:
    """Asks on `chunks.get.<tenant>.<corpus>`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._patience = Patience()

    async def fetch(self, tenant: str, corpus: str, chunk_ids: Sequence[str], timeout_s: float) -> ChunksReply | None:
        """None where nobody answers in time, or what came is not a reply: the texts are then named as missing."""
        subject, request = subjects.chunks_get(tenant, corpus), ChunksRequest(chunk_ids=tuple(chunk_ids))
        ends_at = time.monotonic() + timeout_s
        asked: list[_Asked] = []
        try:
            for pause_s in self._patience.pauses(timeout_s):
                one = asyncio.create_task(self._ask(subject, request, ends_at - time.monotonic()))
                one.add_done_callback(_looked_at)
                asked.append(one)
                ended, _ = await asyncio.wait(asked, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED)
                if ended:
                    return self._first(ended, corpus)
        finally:
            for one in asked:
                one.cancel()
        _log.warning("fuser.texts_missing", corpus=corpus, error="timeout", asked=len(asked))
        return None

    async def _ask(self, subject: str, request: ChunksRequest, timeout_s: float) -> ChunksReply:
        began = time.monotonic()
        reply = ChunksReply.from_json(await self._bus.request(flow.CHUNKS, subject, request, timeout_s))
        self._patience.observe(time.monotonic() - began)
        return reply

    @staticmethod
    def _first(ended: Collection[_Asked], corpus: str) -> ChunksReply | None:
        """A reply of those that have ended; they have no reply where nobody stores texts, or one that is unreadable."""
        error: Exception | None = None
        for one in ended:
            try:
                return one.result()
            except (BusError, ValidationError) as refused:
                error = refused
        _log.warning("fuser.texts_missing", corpus=corpus, error=type(error).__name__)
        return None
