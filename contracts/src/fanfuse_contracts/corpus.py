"""The capability card of a corpus, as it stands in the registry."""

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from fanfuse_contracts.base import MAX_WEIGHT, FiniteFloat, Weight, Written
from fanfuse_contracts.capability import Capability, Topic
from fanfuse_contracts.enums import Kind, SourceKind
from fanfuse_contracts.filters import FieldName, Op
from fanfuse_contracts.quorum import Requirement
from fanfuse_contracts.tokens import Token

ALL_CORPORA: Final = "_all"
"""Stands for several corpora in the subject and lane of a shared search; no corpus may have this name."""


class FieldType(StrEnum):
    """Type of a metadata field."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    STRINGS = "strings"
    """A list of strings."""


class EmbedderSpec(Written):
    """How the vectors of a corpus were made. A query vector fits only if model and dimensions are equal."""

    model: Annotated[str, Field(min_length=1, max_length=128)]
    dimensions: Annotated[int, Field(ge=1, le=4_096)]
    languages: tuple[str, ...] | None = None
    """ISO 639-1 codes the model knows; None means any. A query in another language gets no vector lane."""
    local: bool = True
    """True: the worker can embed text with it. False: only the caller's vectors are used."""
    endpoint: Annotated[str, Field(max_length=2_048, pattern=r"^https?://[^\s@?#/][^\s@?#]*$")] | None = None
    """Address of an OpenAI-compatible service up to the version, such as `https://embed.example.org/v1`, without
    credentials: its key is an environment variable of the workers. None: a model the worker has itself."""
    query_prefix: Annotated[str, Field(max_length=256)] = ""
    """Put before every query sent to the endpoint, such as `query: `."""
    document_prefix: Annotated[str, Field(max_length=256)] = ""
    """Put before every document sent to the endpoint; another prefix makes other vectors."""

    @model_validator(mode="after")
    def _prefixes_need_an_endpoint(self) -> Self:
        if self.endpoint is None and (self.query_prefix or self.document_prefix):
            raise ValueError("prefixes belong to an endpoint: a model the worker has itself knows its own")
        if self.endpoint is not None and not self.local:
            raise ValueError("an endpoint embeds text: leave out `local`, or the endpoint")
        return self


class Wiring(Written):
    """One backend that holds a corpus."""

    kind: Kind
    backend: Token
    pool: Token
    """Pool of workers that serves it: `retrieve.<kind>.<pool>.>`."""
    weight: Weight = 1.0
    """Factor on the shape's weight for this lane."""
    operators: frozenset[Op] = frozenset()
    """Filter operators this backend applies exactly."""
    shared: bool = False
    """True: the backend can search several corpora in one call (one lane when `fan_out` is off)."""
    requirement: Requirement | None = None
    """What the loss of this lane means. None: what holds for the tenant and kind."""


class CorpusCard(Written):
    """A named set of chunks of one tenant."""

    tenant: Token
    corpus: Token
    display_name: str = ""
    description: str = ""
    public: bool = False
    """True: readable without a principal."""
    readers: frozenset[str] = frozenset()
    """Roles that may read it. Empty and not public: any stated principal of the tenant."""
    backends: tuple[Wiring, ...] = ()
    embedder: EmbedderSpec | None = None
    fields: dict[FieldName, FieldType] = {}
    """Filterable metadata."""
    source: SourceKind = SourceKind.REFERENCE
    """The kind of truth it holds. Another kind never stands in for it."""
    can_answer: tuple[Capability, ...] = ()
    """What queries may ask of it, with the arguments each needs."""
    cannot_confirm: tuple[Topic, ...] = ()
    """What it must not be asked, although its text may speak of it."""
    fallbacks: tuple[Token, ...] = ()
    """Corpora of the same kind of truth that may stand in while every backend of this one is down."""
    freshness_s: Annotated[int, Field(gt=0)] | None = None
    """Text indexed longer ago than this counts as stale, and the answer says so. None: never."""
    cost: Annotated[float, Field(ge=0.0, le=MAX_WEIGHT, allow_inf_nan=False)] = 0.0
    """Relative price of one search, counted against `max_cost`."""
    scopes: frozenset[Token] = frozenset()
    """Domains and content types it belongs to, as named in the configuration's `scopes`."""
    term_weights: dict[str, FiniteFloat] = {}
    """Terms (lower case) that speak for this corpus, with their weight: the default scorer's model."""
    generation: Token | None = None
    """The index generation to search; None: not indexed here (an external engine)."""
    chunks: Annotated[int, Field(ge=0)] = 0
    relations: Annotated[int, Field(ge=0)] | None = None
    """Relations between entities that its chunks state. 0: the graph holds only mentions. None: not counted."""
    indexed_at: str | None = None
    """UTC time of the last index run, ISO 8601 with offset."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.corpus == ALL_CORPORA:
            raise ValueError(f"{ALL_CORPORA!r} stands for several corpora: choose another name")
        names = [capability.name for capability in self.can_answer]
        if len(names) != len(set(names)):
            raise ValueError(f"corpus {self.corpus!r} has two capabilities of the same name")
        if self.corpus in self.fallbacks:
            raise ValueError(f"corpus {self.corpus!r} cannot stand in for itself")
        return self

    @model_validator(mode="after")
    def _one_wiring_per_backend(self) -> Self:
        seen = [(wiring.kind, wiring.backend) for wiring in self.backends]
        if len(seen) != len(set(seen)):
            raise ValueError(f"corpus {self.corpus!r} wires the same backend twice")
        return self
