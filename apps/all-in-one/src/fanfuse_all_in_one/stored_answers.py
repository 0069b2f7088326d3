"""Takes stored answers away that show a chunk which has been deleted.

In: a tenant, a corpus, and the ids of its deleted chunks (None: all). Out: how many answers were removed. An answer
that shows no such chunk stays.
"""

from collections.abc import Collection
from typing import Final

from nats.errors import TimeoutError as NatsTimeoutError

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_runtime.bus import Bus

_NEXT_TIMEOUT_S: Final = 5.0


async def remove_answers(bus: Bus, tenant: str, corpus: str, chunk_ids: Collection[str] | None) -> int:
    """Remove every stored answer of the tenant that has such a hit; raises `TimeoutError` if they can't be read."""
    stale = [subject for subject, answer in await _stored(bus, tenant) if _shows(answer, corpus, chunk_ids)]
    for subject in stale:
        await bus.js.purge_stream(streams.ANSWERS.name, subject=subject)
    return len(stale)


def _shows(answer: Answer, corpus: str, chunk_ids: Collection[str] | None) -> bool:
    return any(hit.corpus == corpus and (chunk_ids is None or hit.chunk_id in chunk_ids) for hit in answer.hits)


async def _stored(bus: Bus, tenant: str) -> list[tuple[str, Answer]]:
    pattern = subjects.fused_of_tenant(tenant)
    info = await bus.js.stream_info(streams.ANSWERS.name, subjects_filter=pattern)
    left = len(info.state.subjects or {})
    found: list[tuple[str, Answer]] = []
    if not left:
        return found
    subscription = await bus.js.subscribe(pattern, stream=streams.ANSWERS.name, ordered_consumer=True)
    try:
        while left:
            msg = await subscription.next_msg(timeout=_NEXT_TIMEOUT_S)
            found.append((msg.subject, Answer.from_json(msg.data)))
            left = msg.metadata.num_pending
    except NatsTimeoutError as error:
        raise TimeoutError("the stored answers can't be read") from error
    finally:
        await subscription.unsubscribe()
    return found
