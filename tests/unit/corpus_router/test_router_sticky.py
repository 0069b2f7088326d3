"""An earlier decision that a query stays with: what is taken from it, and what is not."""

import pytest

from fanfuse_contracts import limits
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Kind, RejectionCode, Shape, Strategy
from fanfuse_contracts.plan import RoutingDecision
from fanfuse_contracts.query import StickyCorpus, StickyDecision
from fanfuse_contracts.sticky import sticky_of
from fanfuse_contracts.weights import Weights
from fanfuse_corpus_router.domain.facts import BackendFacts


def sticky(*corpora, shape=None):
    return StickyDecision(shape=shape, corpora=tuple(StickyCorpus(**one) for one in corpora))


def lanes(plan):
    return {(lane.corpus, lane.kind): lane.weight for lane in plan.lanes}


def decided(corpus, weight=1.0, weights=None):
    return RoutingDecision(
        corpus=corpus,
        shape=Shape.MIXED,
        use_vector=True,
        use_keyword=True,
        use_graph=True,
        weights=weights or Weights(),
        degraded_backends=(),
        bm25_fallback=False,
        reason="test",
        corpus_weight=weight,
    )


def test_its_corpora_are_searched_whatever_rules_and_scores_say(build):
    scores = (build.score("a", 9.0, boost="r"), build.score("b", 0.0, exclude="x"))
    plan = build.plan(
        build.event(scores=scores, decision=sticky({"corpus": "b"})), build.card("a"), build.card("b"), build.card("c")
    )
    assert plan.corpus_decision.strategy is Strategy.EXPLICIT
    assert plan.corpus_decision.selected_corpora == ("b",)
    assert plan.corpus_decision.reason == "taken from an earlier decision"


def test_invisible_ones_are_left_out_and_named_like_unknown_ones(build):
    event = build.event(decision=sticky({"corpus": "a"}, {"corpus": "board"}, {"corpus": "nowhere"}))
    plan = build.plan(event, build.card("a"), build.card("board", public=False))
    assert plan.corpus_decision.selected_corpora == ("a",)
    assert "unknown corpus 'board', 'nowhere'" in plan.corpus_decision.reason
    assert plan.to_json() == build.plan(event, build.card("a")).to_json()


def test_with_none_visible_it_is_refused(build):
    event = build.event(decision=sticky({"corpus": "board"}))
    rejection = build.refuse(event, build.card("a"), build.card("board", public=False))
    assert rejection.code is RejectionCode.UNKNOWN_CORPUS


def test_the_heaviest_comes_first_and_weights_are_those_of_the_decision(build):
    event = build.event(decision=sticky({"corpus": "a", "weight": 0.2}, {"corpus": "b", "weight": 0.7}))
    plan = build.plan(event, build.card("a", kinds=("keyword",)), build.card("b", kinds=("keyword",)))
    assert plan.corpus_decision.selected_corpora == ("b", "a")
    assert [decision.corpus_weight for decision in plan.decisions] == [0.7, 0.2]
    assert lanes(plan) == {("b", Kind.KEYWORD): 0.7, ("a", Kind.KEYWORD): 0.2}


def test_weights_that_sum_to_more_than_one_become_shares(build):
    event = build.event(decision=sticky({"corpus": "a", "weight": 1.0}, {"corpus": "b", "weight": 0.6}))
    plan = build.plan(event, build.card("a"), build.card("b"))
    assert [decision.corpus_weight for decision in plan.decisions] == pytest.approx([0.625, 0.375])


def test_weights_of_kinds_stand_in_place_of_wiring_and_bias_and_zero_switches_off(build):
    weights = Weights(vector=0.0, keyword=2.5, graph=0.25)
    card = build.card("a", backends=tuple(build.wiring(kind, weight=7.0) for kind in Kind))
    plan = build.plan(build.event(decision=sticky({"corpus": "a", "weights": weights})), card)
    assert lanes(plan) == {("a", Kind.KEYWORD): 2.5, ("a", Kind.GRAPH): 0.25}
    assert plan.decisions[0].weights == weights


def test_its_shape_weighs_and_the_classification_is_still_told(build):
    event = build.event(decision=sticky({"corpus": "a"}, shape=Shape.KEYWORD_HEAVY), shape=build.shape("semantic"))
    plan = build.plan(event, build.card("a"))
    assert (plan.shape, plan.decisions[0].shape) == (Shape.KEYWORD_HEAVY, Shape.KEYWORD_HEAVY)
    assert lanes(plan)[("a", Kind.VECTOR)] == 0.3
    assert event.classification.shape is Shape.SEMANTIC


def test_without_a_shape_that_of_the_text_weighs(build):
    event = build.event(decision=sticky({"corpus": "a"}), shape=build.shape("semantic"))
    assert build.plan(event, build.card("a")).shape is Shape.SEMANTIC


def test_lanes_filters_and_health_are_planned_anew(build):
    facts = BackendFacts(unhealthy=frozenset({(Kind.VECTOR, "main")}))
    condition = {"field": "lang", "op": "eq", "value": "en"}
    cards = (build.card("a", backends=(build.wiring("vector"), build.wiring("keyword"))),)
    event = build.event(decision=sticky({"corpus": "a"}), filter=condition)
    plan = build.plan(event, *cards, facts=facts)
    assert set(lanes(plan)) == {("a", Kind.KEYWORD)}
    assert plan.decisions[0].bm25_fallback
    assert (
        plan.lanes[0].filter_digest
        == build.plan(build.event(corpora=("a",), filter=condition), *cards).lanes[0].filter_digest
    )


def test_what_a_plan_decided_can_be_stayed_with(build):
    """`sticky_of` the decisions of a plan gives that plan again, for another text and under other rules."""
    cards = [build.card(name) for name in "abc"]
    first = build.plan(
        build.event(scores=(build.score("a", 1.0), build.score("c", 0.5)), shape=build.shape("semantic")), *cards
    )
    event = build.event(text="and Bob Miller", decision=sticky_of(first.decisions), scores=(build.score("b", 9.0),))
    again = build.plan(event, *cards)
    assert again.corpus_decision.selected_corpora == first.corpus_decision.selected_corpora == ("a", "c")
    assert again.shape is first.shape
    assert lanes(again) == pytest.approx(lanes(first))


def test_there_is_nothing_to_stay_with_in_a_refusal():
    with pytest.raises(ValueError, match="no decision to stay with"):
        sticky_of(())


def test_what_is_stayed_with_is_a_decision_a_caller_may_send():
    rows = [decided("c0", 5.0, Weights(vector=2.0)), decided("c1", 0.4), decided("c2", 0.0)]
    stay = sticky_of(rows)
    assert StickyDecision.from_json(stay.to_json()) == stay
    assert [(one.corpus, one.weight) for one in stay.corpora] == [("c0", 1.0), ("c1", 0.4), ("c2", 0.001)]
    assert stay.corpora[0].weights == Weights(vector=2.0)


def test_a_capability_restricts_an_earlier_decision_too(build):
    event = build.event(decision=sticky({"corpus": "a"}), capability="refund")
    assert build.refuse(event, build.card("a"), routing=RoutingConfig()).code is RejectionCode.UNKNOWN_CORPUS


def test_no_more_corpora_are_stayed_with_than_a_query_may_name():
    stay = sticky_of([decided(f"c{number}") for number in range(limits.MAX_CORPORA_PER_QUERY + 3)])
    assert [one.corpus for one in stay.corpora] == [f"c{number}" for number in range(limits.MAX_CORPORA_PER_QUERY)]
