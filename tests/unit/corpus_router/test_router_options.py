"""CFG-04: every option of routing and of a query observably changes a decision, or it would not exist."""

from pathlib import Path

import pytest

from fanfuse_classifier.domain.classify import Classification, classify
from fanfuse_classifier.domain.features import Block
from fanfuse_classifier.domain.profile import FeatureRow, Figures, LinearModel, Profile, Report, TrainingData
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
    "profile": (None, "knows-c.json", selected),
    "fan_out": (True, False, lanes),
    "min_corpora": (1, 3, selected),
    "max_corpora": (0, 1, selected),
    "max_cost": (0.0, 1.5, selected),
    "score_threshold": (0.0, 0.4, selected),
    "learned_temperature": (1.0, 5.0, weights),
    "unconstrained_corpus": (None, "a", selected),
}
"""Option: two values, and what differs between their plans for one and the same query."""

TESTS = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    """Where a trained profile lies that takes "alice" for corpus c."""
    model = LinearModel(
        corpora=("a", "b", "c"),
        queries=3,
        lengths={Block.WORD: 1.0},
        bias=(0.0, 0.0, 0.0),
        temperature=1.0,
        floor=0.34,
        features={Block.WORD: (FeatureRow("alice", 1, (0.0, 0.0, 5.0)),)},
    )
    figures = Figures(queries=1, accuracy_1=1.0, accuracy_3=1.0, calibration_error=0.0, log_loss=0.0)
    profile = Profile(
        format="fanfuse-routing-profile",
        version=1,
        trained_on=TrainingData(sha256="0" * 64, queries=3, per_corpus={}, penalty=1.0),
        report=Report(held_out=figures, held_out_sha256="0" * 64, cross_validated=figures),
        model=model,
    )
    (tmp_path / "knows-c.json").write_text(profile.to_lines())
    return tmp_path


def test_every_option_has_an_effect_test():
    """CFG-04: a new option without one fails here."""
    assert EFFECTS.keys() == RoutingConfig.model_fields.keys()


@pytest.mark.parametrize("option", EFFECTS)
def test_an_option_changes_the_plan(build, folder, option):
    """CFG-04: through the classifier, which finds rules, scopes and scores, and the router, which decides."""
    one, other, look = EFFECTS[option]
    assert look(planned(build, folder, **{option: one})) != look(planned(build, folder, **{option: other}))


def planned(build, folder, **options):
    if options.get("profile"):
        options["profile"] = folder / options["profile"]
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
