"""What workers send back: the reply of a lane, and the texts of chunks."""

from typing import Annotated

from pydantic import Field

from fanfuse_contracts import limits
from fanfuse_contracts.base import Event, FiniteFloat, Model
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome
from fanfuse_contracts.tokens import Token

ChunkId = Annotated[str, Field(min_length=1, max_length=512)]


class LaneHit(Model):
    """One hit of a lane. Its identity is (tenant, corpus, chunk_id), always strings."""

    chunk_id: ChunkId
    rank: Annotated[int, Field(ge=1)]
    """From 1; ties in score are ordered by chunk id before ranks are given."""
    score: FiniteFloat
    """The engine's own score, comparable within this lane only."""
    content_hash: str
    corpus: Token | None = None
    """Set in a shared search only: whose chunk it is."""
    title: Annotated[str, Field(max_length=limits.MAX_TITLE_CHARS)] = ""


class Failure(Model):
    """Why a lane has no hits to give."""

    kind: FailureKind
    message: str
    """For operators and callers: no secret, no text of a chunk."""


class LaneReply(Event):
    """Published on `retrieved.<tenant>.<query_id>.<lane>`."""

    tenant: Token
    query_id: Token
    lane: Token
    corpus: Token
    kind: Kind
    backend: Token
    outcome: LaneOutcome
    """`answered`, `empty`, `cut` (hits, but the engine or the size limit cut the list) or `failed`."""
    hits: Annotated[tuple[LaneHit, ...], Field(max_length=limits.MAX_WINDOW)] = ()
    failure: Failure | None = None
    filter_digest: str | None = None
    """What was applied inside the engine; a reply without the plan's digest is not fused."""
    generation: Token | None = None
    elapsed_ms: FiniteFloat = 0.0
    """Time in the worker, from the start of its handling to this reply."""
    dropped_hits: Annotated[int, Field(ge=0)] = 0
    """Hits refused before ranking: no chunk id, or a score that is not finite."""
    worker: str = ""


class ChunksRequest(Event):
    """Sent to `chunks.get.<tenant>.<corpus>`."""

    chunk_ids: Annotated[tuple[ChunkId, ...], Field(max_length=limits.MAX_WINDOW)]


class ChunkText(Model):
    """Text of one chunk."""

    chunk_id: ChunkId
    text: str
    source: str = ""
    """Where it came from: a path, URL or document id."""


class ChunksReply(Event):
    """The texts that are known, and the ids that no longer exist (those hits are dropped)."""

    chunks: tuple[ChunkText, ...] = ()
    gone: tuple[ChunkId, ...] = ()
    failure: Failure | None = None
