"""CFG-04: every option of routing and of a query observably changes a decision, or it would not exist."""

from pathlib import Path

import pytest

from fanfuse_classifier.domain.classify import Classification, classify
from fanfuse_classifier.service import build_classifiers
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.capability import Capability
from fanfuse_contracts.config import FanfuseConfig, RoutingConfig
from fanfuse_contracts.plan import Plan
from fanfuse_contracts.query import SubmittedQuery


def selected(plan: Plan):
    return plan.corpus_decision.selected_corpora


def weights(plan: Plan):
    return [lane.weight for lane in plan.lanes]


def lanes(plan: Plan):
    return [(lane.kind, lane.corpus, lane.corpora) for lane in plan.lanes]


EFFECTS = {
    "strategy": ("learned", "all", selected),
    "rules": ((), ({"name": "only-b", "corpora": ("b",), "effect": "exclude", "match_any": ("alice",)},), selected),
    "scopes": ((), ({"name": "hr", "kind": "domain", "aliases": ("alice",), "boost": 9.0},), selected),
    "fan_out": (True, False, lanes),
    "min_corpora": (1, 3, selected),
    "max_corpora": (0, 1, selected),
    "max_cost": (0.0, 1.5, selected),
    "score_threshold": (0.0, 0.4, selected),
    "learned_temperature": (1.0, 5.0, weights),
    "unconstrained_corpus": (None, "a", selected),
}
"""Option: two values, and what differs between their plans for one and the same query."""

ELSEWHERE = {"profile": "unit/classifier/test_profiles.py"}
"""Options whose effect needs more than a card and a text: the test that shows it."""

TESTS = Path(__file__).parents[2]


def test_every_option_has_an_effect_test():
    """CFG-04: a new option without one fails here."""
    assert EFFECTS.keys() | ELSEWHERE.keys() == RoutingConfig.model_fields.keys()
    assert not EFFECTS.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize("option", ELSEWHERE)
def test_an_effect_that_is_shown_elsewhere_is_shown_there(option):
    assert f"routing.{option}" in (TESTS / ELSEWHERE[option]).read_text()


@pytest.mark.parametrize("option", EFFECTS)
def test_an_option_changes_the_plan(build, option):
    """CFG-04: through the classifier, which finds rules, scopes and scores, and the router, which decides."""
    one, other, look = EFFECTS[option]
    assert look(planned(build, **{option: one})) != look(planned(build, **{option: other}))


def planned(build, **options):
    config = FanfuseConfig.model_validate({"retrieval": {"routing": options}})
    shared = (build.wiring("vector", shared=True),)
    terms = {"a": {"alice": 2.0}, "b": {"alice": 1.0}, "c": {}}
    cards = [
        build.card(
            name, backends=shared, term_weights=weights, cost=1.0, scopes=frozenset({"hr"} if name == "c" else ())
        )
        for name, weights in terms.items()
    ]
    found = classify(build.event(text="alice").query, "acme", cards, build_classifiers(config, ClassifierSettings()))
    assert isinstance(found, Classification)
    event = build.event(text="alice", scores=found.corpus_scores, shape=found.shape)
    return build.plan(event, *cards, routing=config.retrieval.routing)


REACH = {
    "text": "what is Alice Smith",
    "corpora": ("a",),
    "decision": {"corpora": ({"corpus": "a", "weight": 0.5},)},
    "capability": "refund",
    "window": 50,
    "budget_ms": 500,
    "filter": {"field": "lang", "op": "eq", "value": "en"},
    "graph_seeds": ("Bob",),
    "expansion_terms": ("more",),
    "vector": {"model": "mini", "values": (1.0, 0.0, 0.0)},
    "hyde_vector": {"model": "mini", "values": (1.0, 0.0, 0.0)},
    "principal": {"id": "bob"},
}
"""Options of a query that plan or commands depend on, with a value that is not the default."""

REACH_THE_ANSWER = {
    "top_k": "unit/fuser/test_page.py",
    "offset": "unit/fuser/test_page.py",
    "include_text": "flow/test_routing.py",
}
"""Options that only the answer depends on: the test that shows it."""


def test_every_option_of_a_query_has_an_effect_test():
    """CFG-04: a new one without fails here."""
    assert REACH.keys() | REACH_THE_ANSWER.keys() == SubmittedQuery.model_fields.keys()
    for option, where in REACH_THE_ANSWER.items():
        assert option in (TESTS / where).read_text(), option


@pytest.mark.parametrize("option", REACH)
def test_a_query_option_reaches_plan_or_commands(build, option):
    refund = (Capability(name="refund", match_any=("refund",)),)
    cards = [build.card("a", can_answer=refund), build.card("b"), build.card("inner", public=False)]
    assert build.route(build.event(**{option: REACH[option]}), *cards) != build.route(build.event(), *cards)
