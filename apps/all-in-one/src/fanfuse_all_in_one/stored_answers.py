"""Takes stored answers away that show a chunk which has been deleted.

In: a tenant, a corpus, and ids of deleted chunks or documents (None: all). Out: how many answers were removed. In its
place stands a refusal, so that the query id, should it be used again, is still answered. An answer that shows no such
chunk stays; one that can't be read is taken away too, because nobody can say what it shows.
"""

from collections.abc import Collection
from typing import Final

from nats.errors import TimeoutError as NatsTimeoutError
from pydantic import ValidationError

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import RejectionCode
from fanfuse_contracts.plan import Rejection
from fanfuse_runtime.answers import refusal
from fanfuse_runtime.bus import Bus

_NEXT_TIMEOUT_S: Final = 5.0
_GONE: Final = Rejection(
    code=RejectionCode.GONE,
    message="the stored answer showed text that was deleted since: ask again with a new query id",
    retryable=True,
)


async def remove_answers(bus: Bus, tenant: str, corpus: str, ids: Collection[str] | None) -> int:
    """Remove every stored answer of the tenant that has such a hit; raises `TimeoutError` if they can't be read."""
    stale = [(subject, answer) for subject, answer in await _stored(bus, tenant) if _is_stale(answer, corpus, ids)]
    for subject, answer in stale:
        await bus.js.purge_stream(streams.ANSWERS.name, subject=subject)
        query_id = subjects.parse_query(subject).query_id
        left = refusal(tenant, query_id, _GONE, submitted_ns=answer.submitted_ns if answer else 0)
        await bus.publish(flow.FUSED, subject, left, f"{streams.answer_id(tenant, query_id)}.gone")
    return len(stale)


async def shown_ids(bus: Bus, tenant: str, corpus: str, ids: Collection[str]) -> frozenset[str]:
    """Those of the ids whose chunks a stored answer still shows."""
    answers = [answer for _, answer in await _stored(bus, tenant) if answer is not None]
    return frozenset(name for name in ids if any(_shows(answer, corpus, (name,)) for answer in answers))


def _is_stale(answer: Answer | None, corpus: str, ids: Collection[str] | None) -> bool:
    return answer is None or _shows(answer, corpus, ids)


def _shows(answer: Answer, corpus: str, ids: Collection[str] | None) -> bool:
    return any(hit.corpus == corpus and (ids is None or _is_named(hit.chunk_id, ids)) for hit in answer.hits)


def _is_named(chunk_id: str, ids: Collection[str]) -> bool:
    """A chunk is named by its own id or by that of its document, which its id begins with."""
    return chunk_id in ids or chunk_id.rpartition("#")[0] in ids


async def _stored(bus: Bus, tenant: str) -> list[tuple[str, Answer | None]]:
    pattern = subjects.fused_of_tenant(tenant)
    info = await bus.js.stream_info(streams.ANSWERS.name, subjects_filter=pattern)
    left = len(info.state.subjects or {})
    found: list[tuple[str, Answer | None]] = []
    if not left:
        return found
    subscription = await bus.js.subscribe(pattern, stream=streams.ANSWERS.name, ordered_consumer=True)
    try:
        while left:
            msg = await subscription.next_msg(timeout=_NEXT_TIMEOUT_S)
            found.append((msg.subject, _parse(msg.data)))
            left = msg.metadata.num_pending
    except NatsTimeoutError as error:
        raise TimeoutError("the stored answers can't be read") from error
    finally:
        await subscription.unsubscribe()
    return found


def _parse(data: bytes) -> Answer | None:
    try:
        return Answer.from_json(data)
    except ValidationError:
        return None
