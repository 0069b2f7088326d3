"""The closed sets of the flow. A value that is not here does not exist on the bus."""

from enum import StrEnum
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class ClosedSet(StrEnum):
    """Words of the bus. Written as the strings they are: pydantic would ask each member for its value, in Python."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return {**handler(source), "serialization": core_schema.simple_ser_schema("str")}


class Kind(ClosedSet):
    """Kind of a backend: what routing reasons about."""

    VECTOR = "vector"
    KEYWORD = "keyword"
    GRAPH = "graph"


class SourceKind(ClosedSet):
    """The kind of truth a corpus holds."""

    REFERENCE = "reference"
    """What documents say."""
    POLICY = "policy"
    """What the rules are."""
    RECORD = "record"
    """What is the case now, for one thing."""


class Shape(ClosedSet):
    """Shape of a query's text, see `classify_shape`."""

    KEYWORD_HEAVY = "keyword_heavy"
    SEMANTIC = "semantic"
    ENTITY_RICH = "entity_rich"
    MIXED = "mixed"


class Strategy(ClosedSet):
    """How the corpora of a query were selected."""

    EXPLICIT = "explicit"
    STATIC_RULES = "static_rules"
    LEARNED = "learned"
    ALL = "all"
    UNCONSTRAINED = "unconstrained"


class Status(ClosedSet):
    """Status of an answer."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    REJECTED = "rejected"
    CLARIFY = "clarify"
    EXPIRED = "expired"


class LaneOutcome(ClosedSet):
    """What became of one lane of a plan."""

    ANSWERED = "answered"
    EMPTY = "empty"
    FAILED = "failed"
    LATE = "late"
    NOT_WAITED = "not_waited"
    """The answer could do without it, and went out at once."""
    CUT = "cut"
    SKIPPED_UNHEALTHY = "skipped_unhealthy"
    SKIPPED_FILTER = "skipped_filter"
    SKIPPED_NO_INPUT = "skipped_no_input"


class FailureKind(ClosedSet):
    """Why a lane failed."""

    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    UNSUPPORTED_FILTER = "unsupported_filter"
    TOO_LARGE = "too_large"
    CONFIG = "config"
    EMBEDDER = "embedder"
    EXPIRED = "expired"

    @property
    def counts_against_backend(self) -> bool:
        """True if the backend is to blame, so that the failure enters its health window."""
        return self in _BACKEND_FAULTS


_BACKEND_FAULTS = frozenset({FailureKind.UNAVAILABLE, FailureKind.TIMEOUT, FailureKind.OVERLOADED})


class FallbackReason(ClosedSet):
    """Why only keyword lanes answered for a corpus (label of the fallback counter)."""

    DEGRADED = "degraded"
    FAILED = "failed"
    TIMEOUT = "timeout"
    NO_WORKER = "no_worker"
    EMBEDDER = "embedder"


class RejectionCode(ClosedSet):
    """Why a query was refused before any retrieval, or could not be answered at all."""

    INVALID_QUERY = "invalid_query"
    EMPTY_QUERY = "empty_query"
    TOO_LARGE = "too_large"
    UNAUTHENTICATED = "unauthenticated"
    UNKNOWN_CORPUS = "unknown_corpus"
    PIN_REQUIRED = "pin_required"
    NO_VISIBLE_CORPUS = "no_visible_corpus"
    ALL_EXCLUDED = "all_excluded"
    UNSUPPORTED_FILTER = "unsupported_filter"
    NO_LANE = "no_lane"
    UNCONFIRMED = "unconfirmed"
    QUORUM = "quorum"
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    GONE = "gone"
    INTERNAL = "internal"


class UnconfirmedReason(ClosedSet):
    """Why a source that belongs to an answer could not be confirmed."""

    DOWN = "down"
    """No backend of it could be asked, or none answered."""
    STALE = "stale"
    """Its index is older than its card allows."""
    OUT_OF_SCOPE = "out_of_scope"
    """Its card says that it cannot confirm what was asked."""


class Stage(ClosedSet):
    """The stages of the flow, in their order; label of stage metrics and token of dead letters."""

    CLASSIFIER = "classifier"
    CORPUS_ROUTER = "corpus-router"
    BACKEND_WORKERS = "backend-workers"
    FUSER = "fuser"
    HEALTH = "health"


class BackendHealth(ClosedSet):
    """State of one backend as everyone hears of it."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    HALF_OPEN = "half_open"
