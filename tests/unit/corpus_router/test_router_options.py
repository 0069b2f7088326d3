"""CFG-04: every routing option observably changes a decision, or it would not exist."""

import pytest

from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.plan import Plan

CORPORA = ("a", "b", "c")


def selected(plan: Plan):
    return plan.corpus_decision.selected_corpora


def weights(plan: Plan):
    return [lane.weight for lane in plan.lanes]


EFFECTS = {
    "min_corpora": (1, 2, selected),
    "max_corpora": (0, 1, selected),
    "score_threshold": (0.0, 0.4, selected),
    "learned_temperature": (1.0, 5.0, weights),
}
"""Option: two values, and what differs between their plans for one and the same query."""

DECIDED_BY_THE_CLASSIFIER = {"rules"}
"""The classifier matches rules; the router obeys the ones that fired (below)."""


def test_every_option_has_an_effect_test():
    assert EFFECTS.keys() | DECIDED_BY_THE_CLASSIFIER == RoutingConfig.model_fields.keys()


@pytest.fixture
def plan_with(build):
    def run(scores, **options):
        cards = [build.card(name, kinds=("keyword",)) for name in CORPORA]
        return build.plan(build.event(scores=scores), *cards, routing=RoutingConfig(**options))

    return run


@pytest.mark.parametrize("option", EFFECTS)
def test_an_option_changes_the_plan(build, plan_with, option):
    one, other, look = EFFECTS[option]
    scores = (build.score("a", 2.0), build.score("b", 0.0 if option == "min_corpora" else 1.0))
    assert look(plan_with(scores, **{option: one})) != look(plan_with(scores, **{option: other}))


def test_fired_rules_change_the_plan(build, plan_with):
    plain = plan_with((build.score("a", 1.0), build.score("b", 1.0), build.score("c", 1.0)))
    boosted = plan_with((build.score("a", 1.0), build.score("b", 2.0, boost="r"), build.score("c", 1.0)))
    excluded = plan_with((build.score("a", 1.0), build.score("b", 1.0, exclude="r"), build.score("c", 1.0)))
    assert selected(plain) == ("a", "b", "c")
    assert selected(boosted) == ("b", "a", "c")
    assert selected(excluded) == ("a", "c")


def test_query_options_reach_plan_and_commands(build):
    card = build.card("a")
    base = build.route(build.event(), card)
    for option, value in {
        "window": 50,
        "top_k": 100,
        "budget_ms": 500,
        "filter": {"field": "lang", "op": "eq", "value": "en"},
        "graph_seeds": ("Bob",),
        "expansion_terms": ("more",),
        "corpora": ("a",),
        "vector": {"model": "mini", "values": (1.0, 0.0, 0.0)},
        "hyde_vector": {"model": "mini", "values": (1.0, 0.0, 0.0)},
    }.items():
        query = {"offset": 50, option: value} if option == "top_k" else {option: value}
        assert build.route(build.event(**query), card) != base, option
