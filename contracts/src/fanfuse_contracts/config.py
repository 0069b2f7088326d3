"""The operator's file `fanfuse.yaml`: unknown keys are refused with their path."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from fanfuse_contracts.base import MAX_WEIGHT, Written
from fanfuse_contracts.capability import Terms
from fanfuse_contracts.classification import Effect
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Strategy
from fanfuse_contracts.registration import BackendsConfig, CorpusConfig
from fanfuse_contracts.security import SecurityConfig
from fanfuse_contracts.tokens import Token


class StaticRule(Written):
    """Boosts or excludes corpora when a query matches. No condition: always on."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    corpora: Annotated[tuple[Token, ...], Field(min_length=1)]
    effect: Effect = Effect.BOOST
    boost: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    tenant: Token | None = None
    """None: the rule holds for every tenant that has such a corpus."""
    match_any: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Words or phrases, matched by token with word boundaries (substring in scripts written without spaces)."""
    match_regex: str | None = None
    """RE2 syntax, matched in linear time."""


class ScopeKind(StrEnum):
    """What a scope names."""

    DOMAIN = "domain"
    CONTENT = "content"


class Scope(Written):
    """A domain or a content type, by the words people use for it."""

    name: Token
    kind: ScopeKind
    aliases: Annotated[Terms, Field(min_length=1, max_length=200)]
    boost: Annotated[float, Field(gt=0.0, le=MAX_WEIGHT, allow_inf_nan=False)] = 1.0
    """Added to the score of each corpus whose card names the scope, when the text names it."""


class RoutingConfig(Written):
    """Section `retrieval.routing`."""

    strategy: Literal[Strategy.EXPLICIT, Strategy.STATIC_RULES, Strategy.LEARNED, Strategy.ALL] = Strategy.LEARNED
    """The most selective strategy used without a pin. `explicit`: a query must pin. `static_rules`: rules, else all.
    `learned`: rules, else scores, else all. `all`: everything that no rule excludes."""
    rules: tuple[StaticRule, ...] = ()
    scopes: tuple[Scope, ...] = ()
    profile: Path | None = None
    """A trained profile (`fanfuse routing fit`) instead of the cards' term weights; relative to the file."""
    fan_out: bool = True
    """False: selected corpora that share a backend and an embedder are searched in one lane."""
    min_corpora: Annotated[int, Field(ge=1)] = 1
    max_corpora: Annotated[int, Field(ge=0)] = 0
    """0: unbounded."""
    max_cost: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """Most that the selected corpora's cards may cost together; the best one is always kept. 0: unbounded."""
    score_threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Lowest probability a corpus may have to be selected."""
    learned_temperature: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    unconstrained_corpus: Token | None = None
    """A public corpus of the tenant that is held back, and searched only where nothing else can be."""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.max_corpora and self.max_corpora < self.min_corpora:
            raise ValueError(f"max_corpora {self.max_corpora} is below min_corpora {self.min_corpora}")
        _refuse_doubles("routing rules", [rule.name for rule in self.rules])
        _refuse_doubles("scopes", [scope.name for scope in self.scopes])
        return self


def _refuse_doubles(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two {what} have the name {name!r}")


class RetrievalConfig(Written):
    """Section `retrieval`."""

    routing: RoutingConfig = RoutingConfig()


class Store(StrEnum):
    """Where the registry of corpora is kept."""

    KV = "kv"
    """The NATS key-value bucket: shared by every process, changed while running."""
    MEMORY = "memory"
    """This file: the same in every process that reads it, changed by a restart."""
    POSTGRES = "postgres"


class RegistryConfig(Written):
    """Section `registry`."""

    store: Store = Store.KV
    postgres_dsn: SecretStr | None = None
    """Such as `postgresql://user:password@host/database`."""

    @model_validator(mode="after")
    def _has_address(self) -> Self:
        if (self.store is Store.POSTGRES) != (self.postgres_dsn is not None):
            raise ValueError("postgres_dsn belongs to store: postgres, and only to it: state both or none")
        return self


class FanfuseConfig(Written):
    """The whole file."""

    registry: RegistryConfig = RegistryConfig()
    backends: BackendsConfig = BackendsConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    corpora: tuple[CorpusConfig, ...] = ()
    security: SecurityConfig = SecurityConfig()

    @model_validator(mode="after")
    def _cards_are_sound(self) -> Self:
        seen = [(corpus.tenant_id, corpus.id) for corpus in self.corpora]
        for tenant, corpus in seen:
            if seen.count((tenant, corpus)) > 1:
                raise ValueError(f"corpus {corpus!r} of tenant {tenant!r} stands twice")
        self.cards()
        return self

    def cards(self) -> tuple[CorpusCard, ...]:
        """The capability cards of the section `corpora`, in its order."""
        return tuple(corpus.to_card(self.backends) for corpus in self.corpora)
