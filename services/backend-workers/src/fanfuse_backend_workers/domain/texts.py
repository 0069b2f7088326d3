"""The reply to a request for texts, no larger than the broker takes.

In: the ids asked for, the texts found. Out: one frozen `ChunksReply`. A text that does not fit is left out and never
called gone: the caller names it as missing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fanfuse_contracts.retrieval import ChunksReply, ChunkText

_COMMA_BYTES: Final = 1


def texts_reply(wanted: Sequence[str], found: Mapping[str, ChunkText], max_bytes: int) -> ChunksReply:
    """Texts in the order asked for, as many as fit in `max_bytes` of JSON; what does not exist is `gone`."""
    asked = tuple(dict.fromkeys(wanted))
    gone = tuple(chunk_id for chunk_id in asked if chunk_id not in found)
    room = max_bytes - len(ChunksReply(gone=gone).to_json())
    chunks = []
    for chunk_id in asked:
        if chunk_id not in found:
            continue
        size = len(found[chunk_id].to_json()) + _COMMA_BYTES
        if size <= room:
            room -= size
            chunks.append(found[chunk_id])
    return ChunksReply(chunks=tuple(chunks), gone=gone)
