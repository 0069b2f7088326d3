"""What the router remembers changes no byte of a plan, whatever queries, facts and cards came before; it is bounded."""

import random
from typing import Any

import pytest

from fanfuse_contracts.config import RetrievalConfig, RoutingConfig
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.plan import Plan, RetrieveCommand
from fanfuse_contracts.query import Principal
from fanfuse_contracts.quorum import Quorum, Requirement
from fanfuse_corpus_router.domain import memory
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.lanes import settled
from fanfuse_corpus_router.domain.planning import PlannedQuery, Planner, plan_query

NOW_S = 1_790_000_000.0
FACTS = (
    BackendFacts(),
    BackendFacts(unhealthy=frozenset({(Kind.VECTOR, "main")})),
    BackendFacts(pressed=frozenset({(Kind.GRAPH, "main")}), absent=frozenset({(Kind.KEYWORD, "other")})),
)
QUERIES: tuple[dict[str, Any], ...] = (
    {},
    {"graph_seeds": ()},
    {"principal": Principal(id="bob", roles=frozenset({"hr"}))},
    {"principal": Principal(id=" ", roles=frozenset({"hr"}))},
    {"filter": {"field": "lang", "op": "eq", "value": "de"}},
    {"corpora": ("c01", "c02")},
    {"decision": {"corpora": [{"corpus": "c01", "weight": 0.5, "weights": {"vector": 0}}]}},
    {"vector": {"model": "mini", "values": [1, 2, 3]}},
)


@pytest.fixture
def world(build):
    """Thirty corpora, more lanes than a plan takes; some with a weight that no share may multiply."""

    def card(number: int, chance: random.Random):
        names = ["main", "other"][: chance.randint(1, 2)]
        weights = [chance.choice((1.0, 1.0, 0.0, 5e-324)) for _ in names]
        backends = [
            build.wiring(kind, name, weight=weight, shared=chance.random() < 0.5)
            for kind in Kind
            for name, weight in zip(names, weights, strict=True)
        ]
        readers = frozenset({"hr"}) if chance.random() < 0.2 else frozenset()
        return build.card(f"c{number:02}", backends=tuple(backends), public=not readers, readers=readers)

    def make(chance: random.Random):
        return tuple(card(number, chance) for number in range(30))

    return make


def bodies(outcome):
    if not isinstance(outcome, PlannedQuery):
        return [outcome.to_json()]
    return [outcome.plan.to_json(), *(command.to_json() for command in outcome.commands)]


@pytest.mark.parametrize("fan_out", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_planner_that_remembers_plans_like_one_that_does_not(build, world, seed, fan_out):
    chance = random.Random(seed)
    cards = world(chance)
    quorum = {"acme": Quorum(graph=Requirement.MAY)}
    retrieval = RetrievalConfig(routing=RoutingConfig(fan_out=fan_out), quorum=quorum)
    planner, planned = Planner(retrieval), 0
    for _ in range(60):
        if chance.random() < 0.2:  # a corpus is registered anew
            at = chance.randrange(len(cards))
            changed = cards[at].model_copy(update={"backends": cards[at].backends[1:]})
            cards = (*cards[:at], changed, *cards[at + 1 :])
        shape = build.shape(chance.choice(("semantic", "mixed")), entities=chance.choice(((), ("Alice",))))
        scores = tuple(build.score(f"c{number:02}", chance.uniform(-1, 1)) for number in range(0, 30, 9))
        event = build.event(shape=shape, scores=scores, **chance.choice(QUERIES))
        facts = chance.choice(FACTS)
        outcome = planner.plan(event, cards, facts, NOW_S)
        assert bodies(outcome) == bodies(plan_query(event, cards, facts, retrieval, NOW_S))
        planned += isinstance(outcome, PlannedQuery)
    assert planned > 30


def test_what_is_built_from_checked_values_is_what_validation_would_give(build, world):
    event = build.event(scores=(build.score("c01", 1.0, boost="r"), build.score("c02", 1.0, exclude="x")))
    outcome = build.route(event, *world(random.Random(1)))
    assert Plan.from_json(outcome.plan.to_json()) == outcome.plan
    assert Plan.model_validate(outcome.plan.model_dump()) == outcome.plan
    for command in outcome.commands:
        assert RetrieveCommand.from_json(command.to_json()) == command
        assert list(vars(command)) == list(RetrieveCommand.model_fields)


def test_memory_is_bounded(build, monkeypatch):
    monkeypatch.setattr(memory, "MAX_CORPORA", 5)
    monkeypatch.setattr(memory, "MAX_TENANTS", 3)
    monkeypatch.setattr(memory, "MAX_ROLES", 2)
    monkeypatch.setattr(memory, "MAX_KINDS", 2)
    known = memory.Memory({})
    lanes = settled(build.card("c"), Shape.MIXED, None, (), ())
    for number in range(20):
        tenant = known.of(f"t{number % 4}")
        card = build.card(f"c{number}", tenant=f"t{number % 4}")
        corpus = tenant.of(card)
        assert tenant.of(card) is corpus
        for about in range(5):
            corpus.remember(about, lanes)
            assert len(corpus.found) <= 2
        principal = Principal(id="bob", roles=frozenset({f"r{number}"}))
        assert tenant.visible((card,), principal) == {card.corpus: card}
        assert len(known._tenants) <= 3
        assert sum(len(one._corpora) for one in known._tenants.values()) <= 5
        assert all(len(one._visible) <= 3 for one in known._tenants.values())


def test_an_unknown_tenant_is_not_remembered(build):
    planner = Planner(RetrievalConfig())
    planner.plan(build.event(tenant="nobody"), (), BackendFacts(), NOW_S)
    assert planner._memory._tenants == {}
