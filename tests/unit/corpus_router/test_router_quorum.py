"""What the loss of a lane means, from the operator's file to the plan, and refusals before any call."""

import pytest

from fanfuse_contracts import limits
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.quorum import Quorum, Requirement
from fanfuse_corpus_router.domain.facts import BackendFacts

MUST, SHOULD, MAY = Requirement.MUST, Requirement.SHOULD, Requirement.MAY
NO_GRAPH = BackendFacts(unhealthy=frozenset({(Kind.GRAPH, "main")}))


def requirements(plan):
    return {
        (lane.corpus, lane.kind.value, lane.backend): lane.requirement.value for lane in (*plan.lanes, *plan.skipped)
    }


def test_the_most_exact_word_counts(build):
    """Backend of the corpus, kind of the corpus, kind of the tenant, `should`."""
    config = FanfuseConfig.model_validate(
        {
            "backends": {"keyword": {"eu": {}}},
            "retrieval": {"quorum": {"acme": {"graph": "may", "keyword": "may"}, "other": {"vector": "must"}}},
            "corpora": [
                {"id": "plain", "tenant_id": "acme", "card": {"public": True}},
                {
                    "id": "own",
                    "tenant_id": "acme",
                    "card": {"public": True},
                    "backends": ["vector/main", "keyword/main", "keyword/eu", "graph/main"],
                    "quorum": {"vector": "may", "keyword": "should", "backends": {"keyword/eu": "must"}},
                },
            ],
        }
    )
    cards = (card.model_copy(update={"embedder": build.embedder}) for card in config.cards())
    plan = build.plan(build.event(), *cards, quorum=config.retrieval.quorum)
    assert requirements(plan) == {
        ("plain", "vector", "main"): "should",
        ("plain", "keyword", "main"): "may",
        ("plain", "graph", "main"): "may",
        ("own", "vector", "main"): "may",
        ("own", "keyword", "main"): "should",
        ("own", "keyword", "eu"): "must",
        ("own", "graph", "main"): "may",
    }


def test_without_a_word_every_lane_should_answer(build):
    assert set(requirements(build.plan(build.event(), build.card("a"))).values()) == {"should"}


def test_the_plan_carries_the_fusion_policy(build):
    fusion = FusionConfig(policy=FusionPolicy.RRF, k=20, reserved_seats=0)
    assert build.plan(build.event(), build.card("a"), fusion=fusion).fusion == fusion
    assert build.plan(build.event(), build.card("a")).fusion == FusionConfig()


def wired(build, requirement, **fields):
    backends = (build.wiring("keyword"), build.wiring("graph", requirement=requirement))
    return build.card("a", backends=backends, **fields)


def test_a_must_that_is_down_is_refused_before_any_call(build):
    refused = build.refuse(build.event(), wired(build, MUST), facts=NO_GRAPH)
    assert (refused.code, refused.retryable) == (RejectionCode.QUORUM, True)
    assert "a: graph/main: the backend is degraded" in refused.message
    (lost,) = build.left_out(build.event(), wired(build, MUST), facts=NO_GRAPH)
    assert (lost.kind, lost.outcome, lost.requirement) == (Kind.GRAPH, LaneOutcome.SKIPPED_UNHEALTHY, MUST)
    assert lost.reason in refused.message
    for requirement in (SHOULD, MAY, None):
        plan = build.plan(build.event(), wired(build, requirement), facts=NO_GRAPH)
        assert [lane.requirement for lane in plan.skipped] == [requirement or SHOULD]


def test_a_must_that_cannot_apply_the_filter_is_refused(build):
    backends = (build.wiring("keyword"), build.wiring("vector", requirement=MUST, operators=frozenset()))
    event = build.event(filter=Leaf(field="lang", op=Op.EQ, value="en"))
    refused = build.refuse(event, build.card("a", backends=backends))
    assert (refused.code, refused.retryable) == (RejectionCode.QUORUM, False)
    assert "change the filter" in refused.message


def test_a_must_without_input_has_nothing_to_answer(build):
    plan = build.plan(build.event(graph_seeds=()), wired(build, MUST))
    assert [(lane.outcome, lane.requirement) for lane in plan.skipped] == [(LaneOutcome.SKIPPED_NO_INPUT, MUST)]


def test_a_stand_in_has_its_own_quorum(build):
    """What the operator names as a fallback may stand in, also for a corpus whose lane must answer."""
    down = build.card("a", backends=(build.wiring("graph", requirement=MUST),), fallbacks=("b",), can_answer=())
    event = build.event(scores=(build.score("a", 3.0), build.score("b", -50.0)))
    routing = build.routing(max_corpora=1)
    plan = build.plan(event, down, build.card("b"), facts=NO_GRAPH, routing=routing)
    assert {lane.corpus for lane in plan.lanes} == {"b"}
    assert [lane.requirement for lane in plan.skipped if lane.corpus == "a"] == [SHOULD]
    must = build.card("b", backends=(build.wiring("keyword"), build.wiring("graph", requirement=MUST)))
    assert build.refuse(event, down, must, facts=NO_GRAPH, routing=routing).code is RejectionCode.QUORUM


def test_a_shared_lane_has_the_requirement_of_its_strictest_corpus(build):
    def card(name, requirement):
        return build.card(name, backends=(build.wiring("vector", shared=True, requirement=requirement),))

    for requirement, wanted in ((MAY, MAY), (SHOULD, SHOULD), (MUST, MUST)):
        plan = build.plan(build.event(), card("a", MAY), card("b", requirement), routing=build.routing(fan_out=False))
        assert [(lane.corpora, lane.requirement) for lane in plan.lanes] == [(("a", "b"), wanted)]


def test_a_full_plan_keeps_what_must_answer(build):
    cards = [build.card(f"c{number:02}") for number in range(limits.MAX_CORPORA_PER_QUERY)]
    cards[-1] = build.card("c99", backends=(build.wiring("keyword", requirement=MUST, weight=1e-6),))
    pinned = tuple(card.corpus for card in cards)
    plan = build.plan(build.event(corpora=pinned), *cards)
    assert len(plan.lanes) == limits.MAX_LANES
    assert ("c99", MUST) in [(lane.corpus, lane.requirement) for lane in plan.lanes]
    all_must = [
        card.model_copy(update={"backends": tuple(build.wiring(kind, requirement=MUST) for kind in Kind)})
        for card in cards
    ]
    refused = build.refuse(build.event(corpora=pinned), *all_must)
    assert (refused.code, refused.retryable) == (RejectionCode.QUORUM, False)
    assert "pin fewer corpora" in refused.message


@pytest.mark.parametrize("kind", list(Kind))
def test_a_tenant_states_one_requirement_per_kind(kind):
    assert Quorum.model_validate({kind.value: "must"}).of(kind) is MUST
    assert [Quorum().of(one) for one in Kind] == [None] * 3
