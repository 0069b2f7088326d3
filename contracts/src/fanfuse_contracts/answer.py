"""The one answer of a query."""

from typing import Annotated, Self

from pydantic import Field

from fanfuse_contracts.base import Event, FiniteFloat, Model, Nanoseconds
from fanfuse_contracts.enums import FailureKind, FallbackReason, Kind, LaneOutcome, Shape, Status
from fanfuse_contracts.fusion import FusionApplied
from fanfuse_contracts.plan import (
    Clarification,
    CorpusRoutingDecision,
    Rejection,
    RoutingDecision,
    SkippedLane,
    Unconfirmed,
)
from fanfuse_contracts.query import Hop
from fanfuse_contracts.quorum import Requirement
from fanfuse_contracts.retrieval import ChunkId
from fanfuse_contracts.tokens import Token


class Contribution(Model):
    """What one lane added to a hit. `value` by the answer's policy: `rrf` weight / (k + rank), `rrf_rank`
    1 / (k + rank / weight), `minmax` weight × (s + (1 - s) × x), s = 1 / n of the lane's n hits, where x is 1 for its
    highest score and 0 for its lowest."""

    lane: Token
    kind: Kind
    backend: Token
    rank: Annotated[int, Field(ge=1)]
    weight: FiniteFloat
    value: FiniteFloat
    score: FiniteFloat | None = None
    """The engine's own, comparable within this lane only."""


class Copy(Model):
    """Another chunk of the same tenant with the same content."""

    corpus: Token
    chunk_id: ChunkId


class AnswerHit(Model):
    """One fused hit. `math.fsum` of the contributions' values equals `score` bit for bit."""

    rank: Annotated[int, Field(ge=1)]
    corpus: Token
    chunk_id: ChunkId
    score: FiniteFloat
    title: str = ""
    text: str | None = None
    """None: not asked for, or it did not come in time (then the id is in `missing_texts`)."""
    source: str = ""
    content_hash: str = ""
    contributions: tuple[Contribution, ...]
    also_in: tuple[Copy, ...] = ()
    """The same content in other searched corpora, best first. They add nothing to the score."""
    reserved_by: Token | None = None
    """The lane whose reserved seat lifted this hit over others with a higher score."""


class LaneReport(Model):
    """What became of one wired lane."""

    lane: Token | None = None
    """None for a lane that was skipped before any call."""
    corpus: Token
    corpora: tuple[Token, ...] = ()
    """The corpora of a shared search (`corpus` is `_all`)."""
    kind: Kind
    backend: Token
    outcome: LaneOutcome
    requirement: Requirement = Requirement.SHOULD
    """What its loss means for the answer."""
    shed: bool = False
    """Skipped because it may be missing and its pool was under pressure; `reason` says so."""
    hits: int = 0
    weight: FiniteFloat = 0.0
    failure: FailureKind | None = None
    reason: str = ""
    elapsed_ms: FiniteFloat | None = None
    """Time in the worker."""
    waited_ms: FiniteFloat | None = None
    """From the plan's arrival at the fuser to the reply's."""
    lowest_score: FiniteFloat | None = None
    """The engine's own, of the hits that were fused: `minmax` is computed from it, `highest_score` and `hits`."""
    highest_score: FiniteFloat | None = None

    @classmethod
    def of_skipped(cls, skipped: SkippedLane) -> Self:
        """Of a lane that nobody was asked for."""
        return cls(
            corpus=skipped.corpus,
            kind=skipped.kind,
            backend=skipped.backend,
            outcome=skipped.outcome,
            requirement=skipped.requirement,
            shed=skipped.shed,
            reason=skipped.reason,
        )


class Coverage(Model):
    """What the answer rests on and what is missing from it."""

    expected: int
    """Lanes of the plan."""
    lanes: tuple[LaneReport, ...] = ()
    """Every wired lane of every selected corpus: those of the plan first, then the skipped ones. Where nobody was asked
    because of them: only the skipped ones."""
    late: int = 0
    rejected_replies: int = 0
    """Replies not fused: wrong filter digest, unknown lane, or undecodable."""

    def count(self, outcome: LaneOutcome) -> int:
        """Lanes with this outcome."""
        return sum(lane.outcome is outcome for lane in self.lanes)


class Answer(Event):
    """Stored on `query.fused.<tenant>.<query_id>`, republished as `query.answered.<tenant>.<query_id>`."""

    tenant: Token
    query_id: Token
    status: Status
    hits: tuple[AnswerHit, ...] = ()
    coverage: Coverage
    fusion: FusionApplied | None = None
    """How the hits were ordered. None where nothing was fused."""
    bm25_fallback: bool = False
    """True iff for some selected corpus only keyword lanes answered and another lane was lost for a backend's fault."""
    bm25_fallback_corpora: tuple[Token, ...] = ()
    bm25_fallback_reasons: tuple[FallbackReason, ...] = ()
    shape: Shape | None = None
    corpus_decision: CorpusRoutingDecision | None = None
    decisions: tuple[RoutingDecision, ...] = ()
    rejection: Rejection | None = None
    """Set for the statuses failed, rejected and expired: what is wrong and what to do."""
    clarification: Clarification | None = None
    """Set for the status clarify: what is missing, or what the query could mean."""
    unconfirmed: tuple[Unconfirmed, ...] = ()
    """Sources that belong to the answer and are missing from it, or stale. Nothing of another kind stands in."""
    total: int = 0
    """Distinct hits in the fused window, before offset and top_k."""
    missing_texts: tuple[ChunkId, ...] = ()
    gone: int = 0
    """Hits dropped because their chunk was deleted while the query ran."""
    submitted_ns: Nanoseconds = 0
    elapsed_ms: FiniteFloat = 0.0
    """From the broker's storing of the query to this answer."""
    hops: tuple[Hop, ...] = ()
