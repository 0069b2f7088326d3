"""The operator's file `fanfuse.yaml`: unknown keys are refused with their path."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fanfuse_contracts.base import Written
from fanfuse_contracts.classification import Effect
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


class RoutingConfig(Written):
    """Section `retrieval.routing`."""

    rules: tuple[StaticRule, ...] = ()
    min_corpora: Annotated[int, Field(ge=1)] = 1
    max_corpora: Annotated[int, Field(ge=0)] = 0
    """0: unbounded."""
    score_threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Lowest probability a corpus may have to be selected."""
    learned_temperature: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.max_corpora and self.max_corpora < self.min_corpora:
            raise ValueError(f"max_corpora {self.max_corpora} is below min_corpora {self.min_corpora}")
        names = [rule.name for rule in self.rules]
        if len(names) != len(set(names)):
            raise ValueError("two routing rules have the same name")
        return self


class RetrievalConfig(Written):
    """Section `retrieval`."""

    routing: RoutingConfig = RoutingConfig()


class FanfuseConfig(Written):
    """The whole file."""

    retrieval: RetrievalConfig = RetrievalConfig()
