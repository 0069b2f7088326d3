"""The operator's file `fanfuse.yaml`: unknown keys are refused with their path."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, ValidationError, model_validator

from fanfuse_contracts.backends import BackendsConfig
from fanfuse_contracts.base import MAX_WEIGHT, Written
from fanfuse_contracts.capability import Terms
from fanfuse_contracts.classification import Effect
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Strategy
from fanfuse_contracts.faults import Fault, Loc, refuse, repeated
from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.metrics_config import MetricsConfig
from fanfuse_contracts.pressure import PressureConfig
from fanfuse_contracts.quorum import Quorum
from fanfuse_contracts.registration import CorpusConfig
from fanfuse_contracts.security import SecurityConfig
from fanfuse_contracts.tokens import Token


class StaticRule(Written):
    """Boosts or excludes corpora when a query matches. No condition: always on."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    """Told in decisions and reasons."""
    corpora: Annotated[tuple[Token, ...], Field(min_length=1)]
    """Ids of the corpora it is about."""
    effect: Effect = Effect.BOOST
    """`exclude` wins over every boost."""
    boost: Annotated[float, Field(gt=0.0, le=MAX_WEIGHT, allow_inf_nan=False)] = 1.0
    """Added to the score of each of its corpora."""
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
    """As cards name it."""
    kind: ScopeKind
    """What it names."""
    aliases: Annotated[Terms, Field(min_length=1, max_length=200)]
    """Words or phrases, matched by token like those of a rule."""
    boost: Annotated[float, Field(gt=0.0, le=MAX_WEIGHT, allow_inf_nan=False)] = 1.0
    """Added to the score of each corpus whose card names the scope, when the text names it."""


class RoutingConfig(Written):
    """Section `retrieval.routing`."""

    strategy: Literal[Strategy.EXPLICIT, Strategy.STATIC_RULES, Strategy.LEARNED, Strategy.ALL] = Strategy.LEARNED
    """The most selective strategy used without a pin. `explicit`: a query must pin. `static_rules`: rules, else all.
    `learned`: rules, else scores, else all. `all`: everything that no rule excludes."""
    rules: tuple[StaticRule, ...] = ()
    """What always holds, whatever the scores say."""
    scopes: tuple[Scope, ...] = ()
    """Domains and content types that a text may name."""
    profile: Path | None = None
    """A trained profile (`fanfuse routing fit`) instead of the cards' term weights; relative to the file."""
    fan_out: bool = True
    """False: selected corpora that share a backend and an embedder are searched in one lane."""
    min_corpora: Annotated[int, Field(ge=1)] = 1
    """Fewest corpora that are selected, as far as so many are visible and not excluded; `max_cost` goes before it."""
    max_corpora: Annotated[int, Field(ge=0)] = 0
    """Most corpora that are selected. 0: unbounded."""
    max_cost: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """Most that the selected corpora's cards may cost together; the best one is always kept. 0: unbounded."""
    score_threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Lowest probability a corpus may have to be selected."""
    learned_temperature: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    """Divides scores before they become probabilities: above 1 evens them out, below 1 sharpens them."""
    unconstrained_corpus: Token | None = None
    """A public corpus of the tenant that is held back, and searched only where nothing else can be."""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        refuse(self._faults())
        return self

    def _faults(self) -> Iterator[Fault]:
        if self.max_corpora and self.max_corpora < self.min_corpora:
            yield ("max_corpora",), f"max_corpora {self.max_corpora} is below min_corpora {self.min_corpora}"
        yield from _same_names("rules", "routing rules", [rule.name for rule in self.rules])
        yield from _same_names("scopes", "scopes", [scope.name for scope in self.scopes])


def _same_names(key: str, what: str, names: list[str]) -> Iterator[Fault]:
    return (((key, at, "name"), f"two {what} have the name {names[at]!r}") for at in repeated(names))


class RetrievalConfig(Written):
    """Section `retrieval`."""

    routing: RoutingConfig = RoutingConfig()
    """Which corpora and backends a query goes to."""
    fusion: FusionConfig = FusionConfig()
    """How their ranked lists become one."""
    quorum: dict[Token, Quorum] = {}
    """By tenant: what the loss of a lane means, `must`, `should` or `may` per kind. Unstated: `should`."""
    probe_on_decide: bool = False
    """True: `decide` has health probe degraded backends before it plans, and waits for that up to a second."""


class Store(StrEnum):
    """Where the registry of corpora is kept."""

    KV = "kv"
    """The NATS key-value bucket: shared by every process, changed while running."""
    MEMORY = "memory"
    """This file: the same in every process that reads it, changed by a restart."""
    POSTGRES = "postgres"


class RegistryConfig(Written):
    """Section `registry`."""

    model_config = ConfigDict(hide_input_in_errors=True)

    store: Store = Store.KV
    """Where the registry of corpora is kept: `kv`, the bucket on the bus, shared and changed while running; `memory`,
    this file, changed by a restart; `postgres`."""
    postgres_dsn: SecretStr | None = None
    """Such as `postgresql://user:password@host/database`."""

    @model_validator(mode="after")
    def _has_address(self) -> Self:
        if (self.store is Store.POSTGRES) != (self.postgres_dsn is not None):
            raise ValueError("postgres_dsn belongs to store: postgres, and only to it: state both or none")
        return self


def _card_faults(where: Loc, corpus: CorpusConfig, backends: BackendsConfig) -> Iterator[Fault]:
    found = list(corpus.faults(backends))
    yield from (((*where, *loc), message) for loc, message in found)
    if found:
        return
    try:
        corpus.to_card(backends)
    except ValidationError as error:
        rows = error.errors(include_input=False, include_url=False)
        yield from (((*where, *row["loc"]), row["msg"].removeprefix("Value error, ")) for row in rows)


class FanfuseConfig(Written):
    """The whole file."""

    model_config = ConfigDict(hide_input_in_errors=True)

    registry: RegistryConfig = RegistryConfig()
    """Where the corpora are kept."""
    backends: BackendsConfig = BackendsConfig()
    """The engines."""
    retrieval: RetrievalConfig = RetrievalConfig()
    """How queries are routed."""
    corpora: tuple[CorpusConfig, ...] = ()
    """What can be searched."""
    security: SecurityConfig = SecurityConfig()
    """Who may ask as whom."""
    metrics: MetricsConfig = MetricsConfig()
    """Which tenants and corpora have series of their own."""
    pressure: PressureConfig = PressureConfig()
    """How much one tenant may ask at a time."""

    @model_validator(mode="after")
    def _cards_are_sound(self) -> Self:
        refuse(self._faults())
        return self

    def _faults(self) -> Iterator[Fault]:
        for at in repeated([(corpus.tenant_id, corpus.id) for corpus in self.corpora]):
            corpus = self.corpora[at]
            yield ("corpora", at, "id"), f"corpus {corpus.id!r} of tenant {corpus.tenant_id!r} stands twice"
        for at, corpus in enumerate(self.corpora):
            yield from _card_faults(("corpora", at), corpus, self.backends)

    def cards(self) -> tuple[CorpusCard, ...]:
        """The capability cards of the section `corpora`, in its order."""
        return tuple(corpus.to_card(self.backends) for corpus in self.corpora)
