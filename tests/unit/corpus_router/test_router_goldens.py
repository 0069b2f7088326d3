"""The two offline examples of the command line, and the bias table behind them."""

import pytest

from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode, Shape
from fanfuse_contracts.plan import Plan, Rejection
from fanfuse_corpus_router.domain.bias import BIAS
from fanfuse_corpus_router.offline import plan_example


def test_a_semantic_question_weighs_vector_most():
    shape = QueryShape(shape=Shape.SEMANTIC, reason="question", language="en", scripts=("latin",))
    plan = plan_example("What is RAG?", shape)
    assert isinstance(plan, Plan)
    decision = plan.decisions[0]
    assert decision.shape is Shape.SEMANTIC
    assert (decision.weights.vector, decision.weights.keyword, decision.weights.graph) == (1.5, 1.0, 0.8)
    assert not decision.bm25_fallback
    assert decision.degraded_backends == ()


def test_without_vector_and_graph_only_keyword_is_left_and_that_is_a_fallback():
    shape = QueryShape(shape=Shape.KEYWORD_HEAVY, reason="terms", scripts=("latin",))
    plan = plan_example("acme 2024 earnings", shape, failed=(Kind.VECTOR,), graph=False)
    assert isinstance(plan, Plan)
    decision = plan.decisions[0]
    assert (decision.use_vector, decision.use_keyword, decision.use_graph) == (False, True, False)
    assert (decision.weights.vector, decision.weights.keyword, decision.weights.graph) == (0.3, 1.5, 0.5)
    assert decision.degraded_backends == ("vector/main",)
    assert decision.bm25_fallback
    outcomes = {lane.kind: lane.outcome for lane in plan.skipped}
    assert outcomes == {Kind.VECTOR: LaneOutcome.SKIPPED_UNHEALTHY, Kind.GRAPH: LaneOutcome.SKIPPED_NO_INPUT}


def test_with_everything_failed_the_offline_plan_is_a_rejection_worth_retrying():
    shape = QueryShape(shape=Shape.ENTITY_RICH, reason="names", entities=("Acme",))
    rejection = plan_example("Acme", shape, failed=tuple(Kind))
    assert isinstance(rejection, Rejection)
    assert rejection.code is RejectionCode.UNCONFIRMED
    assert rejection.retryable


@pytest.mark.parametrize(
    ("shape", "weights"),
    [
        (Shape.KEYWORD_HEAVY, (0.3, 1.5, 0.5)),
        (Shape.SEMANTIC, (1.5, 1.0, 0.8)),
        (Shape.ENTITY_RICH, (1.0, 1.2, 1.8)),
        (Shape.MIXED, (1.0, 1.0, 1.0)),
    ],
)
def test_the_bias_table_is_the_stated_one(shape, weights):
    assert tuple(BIAS[shape].of(kind) for kind in Kind) == weights


def test_every_shape_has_a_bias():
    assert set(BIAS) == set(Shape)
