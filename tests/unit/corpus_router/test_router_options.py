"""CFG-04: every routing option observably changes a decision, or it would not exist."""

import pytest

from fanfuse_classifier.domain.classify import Classification, classify
from fanfuse_classifier.service import build_classifiers
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.config import FanfuseConfig, RoutingConfig
from fanfuse_contracts.plan import Plan


def selected(plan: Plan):
    return plan.corpus_decision.selected_corpora


def weights(plan: Plan):
    return [lane.weight for lane in plan.lanes]


EFFECTS = {
    "rules": ((), ({"name": "only-b", "corpora": ("b",), "effect": "exclude", "match_any": ("alice",)},), selected),
    "min_corpora": (1, 3, selected),
    "max_corpora": (0, 1, selected),
    "score_threshold": (0.0, 0.4, selected),
    "learned_temperature": (1.0, 5.0, weights),
}
"""Option: two values, and what differs between their plans for one and the same query."""


def test_every_option_has_an_effect_test():
    assert EFFECTS.keys() == RoutingConfig.model_fields.keys()


@pytest.mark.parametrize("option", EFFECTS)
def test_an_option_changes_the_plan(build, option):
    """Through the classifier, which matches the rules and scores the corpora, and the router, which decides."""
    one, other, look = EFFECTS[option]
    assert look(planned(build, **{option: one})) != look(planned(build, **{option: other}))


def planned(build, **options):
    config = FanfuseConfig.model_validate({"retrieval": {"routing": options}})
    weights = {"a": {"alice": 2.0}, "b": {"alice": 1.0}, "c": {}}
    cards = [build.card(name, kinds=("keyword",), term_weights=terms) for name, terms in weights.items()]
    found = classify(build.event(text="alice").query, "acme", cards, build_classifiers(config, ClassifierSettings()))
    assert isinstance(found, Classification)
    event = build.event(text="alice", scores=found.corpus_scores, shape=found.shape)
    return build.plan(event, *cards, routing=config.retrieval.routing)


def test_query_options_reach_plan_and_commands(build):
    card = build.card("a")
    base = build.route(build.event(), card)
    for option, value in {
        "window": 50,
        "budget_ms": 500,
        "filter": {"field": "lang", "op": "eq", "value": "en"},
        "graph_seeds": ("Bob",),
        "expansion_terms": ("more",),
        "corpora": ("a",),
        "vector": {"model": "mini", "values": (1.0, 0.0, 0.0)},
        "hyde_vector": {"model": "mini", "values": (1.0, 0.0, 0.0)},
    }.items():
        assert build.route(build.event(**{option: value}), card) != base, option
