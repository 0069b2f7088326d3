"""FUS-05, the router's side: what weights are accepted, and that a lane of weight 0 is not dispatched."""

import json
import math

import pytest
from pydantic import ValidationError

from fanfuse_contracts import limits
from fanfuse_contracts.base import MAX_WEIGHT
from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode, Shape
from fanfuse_corpus_router.domain.bias import BIAS


def weighed(build, vector, keyword, graph):
    weights = {"vector": vector, "keyword": keyword, "graph": graph}
    return build.card("a", backends=tuple(build.wiring(kind, weight=weight) for kind, weight in weights.items()))


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, -math.inf, 1e300])
def test_negative_huge_and_non_finite_weights_are_refused_with_the_field_named(build, weight):
    with pytest.raises(ValidationError, match="weight"):
        weighed(build, weight, 1.0, 1.0)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_lane_of_weight_zero_is_not_dispatched(build, zero):
    plan = build.plan(build.event(), weighed(build, zero, 1.0, zero))
    assert [lane.kind for lane in plan.lanes] == [Kind.KEYWORD]
    assert {lane.outcome for lane in plan.skipped} == {LaneOutcome.SKIPPED_NO_INPUT}
    assert {lane.reason for lane in plan.skipped} == {"switched off: its weight is 0"}
    assert "-0" not in json.dumps(json.loads(plan.to_json())["decisions"][0]["weights"])


def test_all_zero_leaves_no_lane_and_is_refused(build):
    rejection = build.refuse(build.event(), weighed(build, 0.0, 0.0, -0.0))
    assert (rejection.code, rejection.retryable) == (RejectionCode.NO_LANE, False)
    assert "its weight is 0" in rejection.message


@pytest.mark.parametrize("shape", list(Shape))
def test_a_lanes_weight_is_wiring_times_bias_times_corpus(build, shape):
    card = weighed(build, 2.0, 0.5, 1.0)
    event = build.event(shape=build.shape(shape))
    single = build.plan(event, card)
    assert {lane.kind: lane.weight for lane in single.lanes} == {
        wiring.kind: wiring.weight * BIAS[shape].of(wiring.kind) for wiring in card.backends
    }
    pair = build.plan(event, card, card.model_copy(update={"corpus": "b"}))
    assert [lane.weight for lane in pair.lanes] == pytest.approx([lane.weight / 2 for lane in single.lanes] * 2)
    assert single.decisions[0].weights == pair.decisions[0].weights == pair.decisions[1].weights


@pytest.mark.parametrize(("relations", "factor"), [(None, 1.0), (0, 0.25), (1, 1.0)])
@pytest.mark.parametrize("shape", list(Shape))
def test_a_graph_without_relations_counts_a_quarter_and_the_decision_says_so(build, shape, relations, factor):
    card = weighed(build, 2.0, 0.5, 3.0).model_copy(update={"relations": relations})
    event = build.event(shape=build.shape(shape), graph_seeds=("alice",))
    plan = build.plan(event, card)
    weights = {lane.kind: lane.weight for lane in plan.lanes}
    assert weights[Kind.GRAPH] == 3.0 * factor * BIAS[shape].graph == plan.decisions[0].weights.graph
    assert weights[Kind.KEYWORD] == 0.5 * BIAS[shape].keyword
    assert ("no relations" in plan.decisions[0].reason) is (factor < 1.0)


def test_an_irrelevant_corpus_keeps_a_small_weight(build):
    event = build.event(scores=(build.score("a", 1e6),), corpora=("a", "b"))
    plan = build.plan(event, build.card("a", kinds=("keyword",)), build.card("b", kinds=("keyword",)))
    assert {lane.corpus: lane.weight for lane in plan.lanes} == {"a": 1.0, "b": limits.MIN_CORPUS_WEIGHT}


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e6])
def test_extreme_weights_give_finite_json(build, weight):
    plan = build.plan(build.event(shape=build.shape(Shape.ENTITY_RICH)), weighed(build, weight, 1.0, weight))
    assert len(plan.lanes) == 3
    assert all(0.0 < lane.weight <= MAX_WEIGHT for lane in plan.lanes)
    assert b"inf" not in plan.to_json().lower()
