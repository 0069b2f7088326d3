"""The query, as a caller writes it and as the services pass it on.

Tenant and query id are not in it: they come from the subject, so that even an undecodable body gets its rejection.
"""

import math
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from fanfuse_contracts import limits
from fanfuse_contracts.base import Event, FiniteFloat, Guarded, Model, Nanoseconds, Written
from fanfuse_contracts.enums import Shape, Stage
from fanfuse_contracts.filters import Filter, check_size
from fanfuse_contracts.tokens import Token
from fanfuse_contracts.weights import Weights


def _clean_text(text: str) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise ValueError("text holds an unpaired surrogate: send valid Unicode") from error
    if "\x00" in text:
        raise ValueError("text holds a NUL character: remove it")
    if size > limits.MAX_TEXT_BYTES:
        raise ValueError(f"text has {size} bytes: at most {limits.MAX_TEXT_BYTES} are accepted")
    return text


Text = Annotated[str, AfterValidator(_clean_text)]
Term = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_clean_text)]


class Principal(Guarded):
    """Who asks, as stated by the tenant's application."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    roles: Annotated[frozenset[str], Field(max_length=limits.MAX_ROLES)] = frozenset()


class QueryVector(Written):
    """A vector made by the caller. Used for a corpus only if model and dimension are those of its embedder."""

    model: Annotated[str, Field(min_length=1, max_length=128)]
    values: Annotated[tuple[FiniteFloat, ...], Field(min_length=1, max_length=limits.MAX_VECTOR_DIMENSIONS)]

    @field_validator("values")
    @classmethod
    def _not_zero(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if not 0.0 < math.hypot(*values) < math.inf:
            raise ValueError("vector has no direction: its norm is zero or not finite")
        return values


class StickyCorpus(Written):
    """A corpus of an earlier decision."""

    corpus: Token
    weight: Annotated[float, Field(strict=True, gt=0.0, le=1.0)] = 1.0
    """Its share of the relevance."""
    weights: Weights | None = None
    """Weights of its kinds. None: by shape."""


class StickyDecision(Written):
    """An earlier decision, so that the next query of a session stays with its sources. Lanes, filters, health and
    budget are planned anew; a corpus that is no longer visible is left out."""

    shape: Shape | None = None
    """None: the shape of the text."""
    corpora: Annotated[tuple[StickyCorpus, ...], Field(min_length=1, max_length=limits.MAX_CORPORA_PER_QUERY)]

    @field_validator("corpora")
    @classmethod
    def _each_once(cls, corpora: tuple[StickyCorpus, ...]) -> tuple[StickyCorpus, ...]:
        if len({one.corpus for one in corpora}) != len(corpora):
            raise ValueError("a corpus stands twice in the decision: name each once")
        return corpora


class SubmittedQuery(Written):
    """What a caller publishes on `query.submitted.<tenant>.<query_id>`."""

    text: Text
    corpora: Annotated[tuple[Token, ...], Field(min_length=1, max_length=limits.MAX_CORPORA_PER_QUERY)] | None = None
    """Pin: search these corpora and no other. Absent: the router selects."""
    decision: StickyDecision | None = None
    """An earlier decision to stay with, instead of a pin."""
    capability: Token | None = None
    """Which capability is meant, where several could be: the reply to a clarification."""
    top_k: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_TOP_K)] = limits.DEFAULT_TOP_K
    offset: Annotated[int, Field(strict=True, ge=0, le=limits.MAX_OFFSET)] = 0
    """Hits to skip; pages of one query join without holes."""
    window: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_WINDOW)] = limits.DEFAULT_WINDOW
    """Hits asked of every lane before fusion. Independent of top_k and at least offset + top_k, so that a short answer
    is a prefix of a long one and pages join without holes."""
    budget_ms: Annotated[int, Field(strict=True, ge=limits.MIN_BUDGET_MS, le=limits.MAX_BUDGET_MS)] = (
        limits.DEFAULT_BUDGET_MS
    )
    """A duration from the moment the broker stored the query."""
    filter: Annotated[Filter, AfterValidator(check_size)] | None = None
    graph_seeds: Annotated[tuple[Term, ...], Field(max_length=limits.MAX_GRAPH_SEEDS)] | None = None
    """Entities to start from. Absent: those found in the text. Empty: no graph lane."""
    expansion_terms: Annotated[tuple[Term, ...], Field(max_length=limits.MAX_EXPANSION_TERMS)] = ()
    """More words for the keyword lanes."""
    vector: QueryVector | None = None
    hyde_vector: QueryVector | None = None
    """Vector of a hypothetical answer; used where `vector` does not fit."""
    principal: Principal | None = None
    """Absent: only corpora marked public are visible."""
    include_text: Annotated[bool, Field(strict=True)] = True
    """False: the answer carries ids, titles and scores only."""

    @model_validator(mode="after")
    def _pin_or_decision(self) -> Self:
        if self.corpora is not None and self.decision is not None:
            raise ValueError("corpora and decision both say where to search: send one of them")
        return self

    @model_validator(mode="after")
    def _page_fits_window(self) -> Self:
        if self.offset + self.top_k > self.window:
            raise ValueError(
                f"offset + top_k is {self.offset + self.top_k}, more than window {self.window}: "
                f"raise window (at most {limits.MAX_WINDOW}) and keep it for every page of the query"
            )
        return self


class AcceptedQuery(SubmittedQuery):
    """A query that was validated; passed on inside events, so unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


class Hop(Model):
    """When a stage finished with a query, in milliseconds since the broker stored the query, and its own share."""

    stage: Stage
    at_ms: FiniteFloat
    took_ms: FiniteFloat


class Progress(Model):
    """Of a query event, what its answer needs where the rest cannot be read."""

    submitted_ns: Nanoseconds = 0
    hops: tuple[Hop, ...] = ()


class QueryEvent(Event):
    """What the events of the query path have in common."""

    tenant: Token
    query_id: Token
    query: AcceptedQuery
    submitted_ns: Nanoseconds
    """Time at which the broker stored `query.submitted`, in broker time: the start of the budget."""
    hops: tuple[Hop, ...] = ()
