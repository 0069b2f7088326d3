"""The router's decision for one query, as frozen data: decisions, lanes, and what was left out and why."""

from typing import Annotated

from pydantic import Field

from fanfuse_contracts import limits
from fanfuse_contracts.base import MAX_WEIGHT, Event, FiniteFloat, Model, Nanoseconds, Weight, Written
from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.enums import (
    FallbackReason,
    Kind,
    LaneOutcome,
    RejectionCode,
    Shape,
    SourceKind,
    Stage,
    Strategy,
    UnconfirmedReason,
)
from fanfuse_contracts.filters import Filter
from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.query import QueryEvent, SubmittedQuery
from fanfuse_contracts.quorum import Requirement
from fanfuse_contracts.tokens import Token
from fanfuse_contracts.weights import Weights


class CorpusCandidate(Model):
    """One visible corpus in a corpus decision."""

    corpus: Token
    score: FiniteFloat
    probability: Annotated[float, Field(ge=0.0, le=1.0)]
    selected: bool
    reason: str
    boosted_by: tuple[str, ...] = ()
    """Rules and scopes that spoke for it."""
    excluded_by: tuple[str, ...] = ()
    """Rules that excluded it."""


class CorpusRoutingDecision(Model):
    """Which corpora are searched, and why. One per query."""

    strategy: Strategy
    """The strategy that decided (effective)."""
    configured: Strategy = Strategy.LEARNED
    """The most selective strategy that the configuration allows without a pin."""
    selected_corpora: tuple[Token, ...]
    scores: tuple[CorpusCandidate, ...]
    fan_out: bool
    """As configured. False: corpora that share a backend and an embedder are searched in one lane."""
    candidate_n: int
    reason: str


class RoutingDecision(Model):
    """Which backends of one selected corpus are searched, and why."""

    corpus: Token
    shape: Shape
    use_vector: bool
    use_keyword: bool
    use_graph: bool
    weights: Weights
    degraded_backends: tuple[str, ...]
    """`kind/backend` of the wired backends left out for health, sorted."""
    bm25_fallback: bool
    """True iff keyword is the only lane left and at least one wired lane was left out for health."""
    reason: str
    source: SourceKind = SourceKind.REFERENCE
    corpus_weight: Weight = 1.0
    """Share of the relevance: factor of every weight of this corpus."""
    asked: tuple[Token, ...] = ()
    """Capabilities that the query asks of this corpus."""
    stands_in_for: Token | None = None
    """The corpus that is down and names this one as its fallback."""


class Unconfirmed(Model):
    """A source that belongs to the answer and could not be confirmed."""

    corpus: Token
    reason: UnconfirmedReason
    message: str


class Lane(Model):
    """One ranked list to fetch."""

    name: Token
    corpus: Token
    """`_all`: a shared search over `corpora`."""
    corpora: tuple[Token, ...] = ()
    """The corpora of a shared search, sorted; empty for a lane of one corpus."""
    kind: Kind
    backend: Token
    pool: Token
    weight: Annotated[float, Field(gt=0.0, le=MAX_WEIGHT, allow_inf_nan=False)]
    """Backend weight × corpus weight: the numerator of every contribution of this lane."""
    window: Annotated[int, Field(ge=1, le=limits.MAX_WINDOW)]
    filter_digest: str
    """What the worker's reply must attest."""
    requirement: Requirement = Requirement.SHOULD
    """What its loss means for the answer; of a shared search the strictest of its corpora."""


class SkippedLane(Model):
    """A wired lane that was left out before any call."""

    corpus: Token
    kind: Kind
    backend: Token
    outcome: LaneOutcome
    """One of the `skipped_*` outcomes."""
    reason: str
    fallback_reason: FallbackReason | None = None
    """Set where a backend's fault is the reason."""
    requirement: Requirement = Requirement.SHOULD
    shed: bool = False
    """It may be missing, and its pool was under pressure."""


class Plan(Model):
    """What will be searched, with which weights."""

    shape: Shape
    lanes: Annotated[tuple[Lane, ...], Field(max_length=limits.MAX_LANES)]
    skipped: tuple[SkippedLane, ...]
    corpus_decision: CorpusRoutingDecision
    decisions: tuple[RoutingDecision, ...]
    """One per selected corpus, in the order of selection."""
    unconfirmed: tuple[Unconfirmed, ...] = ()
    """Selected sources that are known before any call to be missing or stale."""
    fusion: FusionConfig | None = None
    """How the lanes become one list, so that every fuser gives the same answer. None: the fuser's own configuration
    decides (a plan of a version that did not state it)."""


class QueryPlanned(QueryEvent):
    """Published on `query.planned.<tenant>.<query_id>`: the order to join."""

    classification: QueryShape
    plan: Plan


class Rejection(Model):
    """Why a query gets no retrieval, and what to do about it."""

    code: RejectionCode
    message: str
    """What is wrong and what to do; never holds another tenant's data."""
    retryable: bool = False
    stage: Stage | None = None
    """Of `expired`: the stage that the query was waiting for when its budget was over."""


class MissingArgument(Model):
    """What a capability needs and the query does not state."""

    corpus: Token
    capability: Token
    argument: Token
    description: str = ""
    field: str | None = None
    """State it as a filter on this field, where there is one."""


class CapabilityOption(Model):
    """One thing the query could mean."""

    corpus: Token
    capability: Token
    source: SourceKind
    description: str = ""


class Clarification(Model):
    """The query cannot be carried out as it stands: what is missing, or what it could mean. No backend was called."""

    message: str
    missing: tuple[MissingArgument, ...] = ()
    options: tuple[CapabilityOption, ...] = ()
    """Send the query again with one of these as `capability`."""


class RetrieveCommand(Event):
    """Published on `retrieve.<kind>.<pool>.<tenant>.<corpus>`: fetch one ranked list."""

    tenant: Token
    query_id: Token
    lane: Token
    corpus: Token
    corpora: tuple[Token, ...] = ()
    """The corpora of a shared search (`corpus` is `_all`); every hit then names its corpus."""
    kind: Kind
    backend: Token
    text: str
    """Text to search; for keyword lanes with the expansion terms appended."""
    identifiers: tuple[str, ...] = ()
    """Found in the text; a keyword engine keeps them whole."""
    vector: tuple[FiniteFloat, ...] | None = None
    """The caller's vector where it fits the corpus; None: the worker embeds `text`."""
    seeds: tuple[str, ...] = ()
    window: Annotated[int, Field(ge=1, le=limits.MAX_WINDOW)]
    filter: Filter | None = None
    filter_digest: str
    submitted_ns: Nanoseconds
    budget_ms: int
    attempt: Annotated[int, Field(ge=0)] = 0


class DecideRequest(Written):
    """Sent to `query.decide.<tenant>`: plan this query without running it."""

    query: SubmittedQuery


class DecideReply(Event):
    """What would be done: exactly one of plan, clarification and rejection is set."""

    classification: QueryShape | None = None
    plan: Plan | None = None
    clarification: Clarification | None = None
    rejection: Rejection | None = None
    registry_revision: int = 0
    """Revision of the registry the plan rests on."""
    health_version: int = 0
    """Revision of the backends' states the plan rests on."""
