"""Builders of cards, queries and events for the router's tests."""

from typing import Any

import pytest

from fanfuse_contracts.capability import Argument, Capability
from fanfuse_contracts.classification import (
    AskedCapability,
    CorpusScore,
    Effect,
    FiredRule,
    QueryClassified,
    QueryShape,
)
from fanfuse_contracts.config import RetrievalConfig, RoutingConfig
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType, Wiring
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.filters import Op
from fanfuse_contracts.plan import Clarification, Plan, Rejection, SkippedLane
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.planning import PlannedQuery, Refused, plan_query

NOW_S = 1_790_000_000.0
ALL_OPS = frozenset(Op)
FIELDS = {
    "lang": FieldType.STRING,
    "year": FieldType.INTEGER,
    "price": FieldType.FLOAT,
    "draft": FieldType.BOOLEAN,
    "tags": FieldType.STRINGS,
}


class Build:
    """Everything has a default, so that a test states only what it is about."""

    embedder = EmbedderSpec(model="mini", dimensions=3, languages=("en",))

    def wiring(self, kind: Kind | str, backend: str = "main", **fields: Any) -> Wiring:
        values: dict[str, Any] = {"pool": backend, "operators": ALL_OPS} | fields
        return Wiring(kind=Kind(kind), backend=backend, **values)

    def card(
        self, corpus: str, *, kinds: tuple[str, ...] = ("vector", "keyword", "graph"), **fields: Any
    ) -> CorpusCard:
        values: dict[str, Any] = {
            "tenant": "acme",
            "public": True,
            "embedder": self.embedder,
            "fields": FIELDS,
            "backends": tuple(self.wiring(kind) for kind in kinds),
        }
        return CorpusCard(corpus=corpus, **(values | fields))

    def shape(self, shape: Shape | str = Shape.MIXED, **fields: Any) -> QueryShape:
        values: dict[str, Any] = {
            "reason": "test",
            "entities": ("Alice Smith",),
            "language": "en",
            "scripts": ("latin",),
        }
        return QueryShape(shape=Shape(shape), **(values | fields))

    def score(self, corpus: str, score: float, *, boost: str | None = None, exclude: str | None = None) -> CorpusScore:
        named = ((boost, Effect.BOOST), (exclude, Effect.EXCLUDE))
        fired = tuple(FiredRule(rule=rule, effect=effect, amount=1.0) for rule, effect in named if rule is not None)
        return CorpusScore(corpus=corpus, score=score, fired=fired)

    def capability(self, name: str, **required: Any) -> Capability:
        """`required`: argument name → its field, or a pattern written as `re:…`."""
        arguments = tuple(
            Argument(name=argument, pattern=how[3:]) if how.startswith("re:") else Argument(name=argument, field=how)
            for argument, how in required.items()
        )
        return Capability(name=name, match_any=(name,), required=arguments, description=f"what {name} is")

    def asks(self, corpus: str, *names: str, score: float = 1.0, found: tuple[str, ...] = ()) -> CorpusScore:
        """The classifier's row of a corpus whose capabilities the text asks for."""
        asked = tuple(AskedCapability(capability=name, matched=(name,), found=found) for name in names)
        return CorpusScore(corpus=corpus, score=score, asked=asked)

    def event(
        self,
        *,
        scores: tuple[CorpusScore, ...] = (),
        shape: QueryShape | None = None,
        tenant: str = "acme",
        **query: Any,
    ) -> QueryClassified:
        return QueryClassified(
            tenant=tenant,
            query_id="q1",
            query=AcceptedQuery(**({"text": "who is Alice Smith"} | query)),
            submitted_ns=1_000_000_000,
            classification=shape or self.shape(),
            corpus_scores=scores,
        )

    def routing(self, **options: Any) -> RoutingConfig:
        return RoutingConfig(**options)

    def route(
        self,
        event: QueryClassified,
        *cards: CorpusCard,
        facts: BackendFacts | None = None,
        routing: RoutingConfig | None = None,
        now_s: float = NOW_S,
        **retrieval: Any,
    ) -> PlannedQuery | Clarification | Rejection:
        section = RetrievalConfig(routing=routing or RoutingConfig(), **retrieval)
        outcome = plan_query(event, cards, facts or BackendFacts(), section, now_s)
        return outcome.rejection if isinstance(outcome, Refused) else outcome

    def left_out(
        self, event: QueryClassified, *cards: CorpusCard, facts: BackendFacts | None = None, **retrieval: Any
    ) -> tuple[SkippedLane, ...]:
        """The lanes that a refusal names."""
        outcome = plan_query(event, cards, facts or BackendFacts(), RetrievalConfig(**retrieval), NOW_S)
        assert isinstance(outcome, Refused), outcome
        return outcome.skipped

    def plan(self, event: QueryClassified, *cards: CorpusCard, **others: Any) -> Plan:
        outcome = self.route(event, *cards, **others)
        assert isinstance(outcome, PlannedQuery), outcome
        return outcome.plan

    def ask_back(self, event: QueryClassified, *cards: CorpusCard, **others: Any) -> Clarification:
        outcome = self.route(event, *cards, **others)
        assert isinstance(outcome, Clarification), outcome
        return outcome

    def refuse(self, event: QueryClassified, *cards: CorpusCard, **others: Any) -> Rejection:
        outcome = self.route(event, *cards, **others)
        assert isinstance(outcome, Rejection), outcome
        return outcome


@pytest.fixture(scope="session")
def build() -> Build:
    return Build()
