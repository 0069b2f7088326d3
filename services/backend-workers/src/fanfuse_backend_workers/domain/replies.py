"""The reply of a lane: hits, or a typed failure.

In: a command, what was applied and found in each of its corpora. Out: one frozen `LaneReply`. The filter digest is
computed from what was applied inside the engine, never copied from the command.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from fanfuse_backend_workers.domain.ranking import Ranked, rank, rank_shared
from fanfuse_backend_workers.ports import EngineResult, SearchError, SearchRequest
from fanfuse_contracts.base import SCHEMA_VERSION
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.filters import digest
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import Failure, LaneHit, LaneReply

MAX_MESSAGE_CHARS: Final = 500
_COMMA_BYTES: Final = 1


class LaneAddress(NamedTuple):
    """Which lane of which query a reply is for."""

    tenant: str
    query_id: str
    lane: str
    corpus: str
    kind: Kind
    backend: str
    attempt: int = 0


def address_of(command: RetrieveCommand) -> LaneAddress:
    """Where a command's reply goes."""
    return LaneAddress(
        command.tenant,
        command.query_id,
        command.lane,
        command.corpus,
        command.kind,
        command.backend,
        command.attempt,
    )


class Searched(NamedTuple):
    """One corpus of a lane: what was applied, what was found, and in which generation of its index."""

    applied: SearchRequest
    result: EngineResult
    generation: str | None


def answered(command: RetrieveCommand, parts: Sequence[Searched]) -> LaneReply:
    """The reply of a search that ran: `answered`, `empty`, or `cut` where an engine says that its list is short.

    One part per corpus, in the command's order; a shared search answers for all of them or not at all.
    """
    ranked = _ranked(command, parts)
    outcome = LaneOutcome.ANSWERED if ranked.hits else LaneOutcome.EMPTY
    applied = parts[0].applied
    # Every part comes from the command, which was validated, or was made here.
    return LaneReply.of_checked(
        {
            "schema_version": SCHEMA_VERSION,
            "tenant": command.tenant,
            "query_id": command.query_id,
            "lane": command.lane,
            "corpus": command.corpus,
            "kind": command.kind,
            "backend": command.backend,
            "outcome": LaneOutcome.CUT if any(part.result.cut for part in parts) else outcome,
            "hits": ranked.hits,
            "failure": None,
            "filter_digest": digest(applied.tenant, ",".join(part.applied.corpus for part in parts), applied.filter),
            "generation": _generation(parts),
            "elapsed_ms": 0.0,
            "dropped_hits": sum(part.result.dropped for part in parts) + ranked.dropped,
            "worker": "",
        }
    )


def _ranked(command: RetrieveCommand, parts: Sequence[Searched]) -> Ranked:
    if command.corpora:
        return rank_shared({part.applied.corpus: part.result.hits for part in parts}, command.window)
    return rank(parts[0].result.hits, command.window)


def _generation(parts: Sequence[Searched]) -> str | None:
    """That of the corpus; of several, 16 hex digits that change with each of theirs."""
    if len(parts) == 1:
        return parts[0].generation
    body = "\n".join(f"{part.applied.corpus}={part.generation or ''}" for part in parts)
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def failed(lane: LaneAddress, error: SearchError) -> LaneReply:
    """The reply of a lane that has nothing to give."""
    return LaneReply(
        tenant=lane.tenant,
        query_id=lane.query_id,
        lane=lane.lane,
        corpus=lane.corpus,
        kind=lane.kind,
        backend=lane.backend,
        outcome=LaneOutcome.FAILED,
        failure=Failure(kind=error.kind, message=error.message[:MAX_MESSAGE_CHARS]),
    )


def signed(reply: LaneReply, worker: str, elapsed_ms: float) -> LaneReply:
    """The reply with who made it and how long it took."""
    return reply.stating(worker=worker, elapsed_ms=elapsed_ms)


class Fitted(NamedTuple):
    """A reply that fits, and its JSON."""

    reply: LaneReply
    body: bytes


def fit(reply: LaneReply, max_bytes: int) -> Fitted:
    """The reply in at most `max_bytes` of JSON: the worst hits go first, and the outcome says `cut`."""
    body = reply.to_json()
    if len(body) > max_bytes:
        reply = _cut(reply, max_bytes)
        body = reply.to_json()
    return Fitted(reply, body)


def _cut(reply: LaneReply, max_bytes: int) -> LaneReply:
    bare = reply.model_copy(update={"hits": ()})
    kept = _fitting(reply.hits, max_bytes - len(bare.to_json()))
    if kept:
        return bare.model_copy(update={"hits": kept, "outcome": LaneOutcome.CUT})
    message = f"not even the first of {len(reply.hits)} hits fits into {max_bytes} bytes"
    failure = Failure(kind=FailureKind.TOO_LARGE, message=message)
    return bare.model_copy(update={"outcome": LaneOutcome.FAILED, "failure": failure})


def _fitting(hits: tuple[LaneHit, ...], room: int) -> tuple[LaneHit, ...]:
    for count, hit in enumerate(hits):
        room -= len(hit.to_json()) + _COMMA_BYTES
        if room < 0:
            return hits[:count]
    return hits
