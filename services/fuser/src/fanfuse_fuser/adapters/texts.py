"""Texts of the winners: one request per corpus, answered by any worker that stores them."""

from collections.abc import Sequence

from pydantic import ValidationError

from fanfuse_contracts import flow, subjects
from fanfuse_contracts.retrieval import ChunksReply, ChunksRequest
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("fuser.texts")


class BusTexts:
    """Asks on `chunks.get.<tenant>.<corpus>`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def fetch(self, tenant: str, corpus: str, chunk_ids: Sequence[str], timeout_s: float) -> ChunksReply | None:
        """None where nobody answers in time, or what came is not a reply: the texts are then named as missing."""
        request = ChunksRequest(chunk_ids=tuple(chunk_ids))
        try:
            data = await self._bus.request(flow.CHUNKS, subjects.chunks_get(tenant, corpus), request, timeout_s)
            return ChunksReply.from_json(data)
        except (BusError, ValidationError) as error:
            _log.warning("fuser.texts_missing", corpus=corpus, error=type(error).__name__)
            return None
