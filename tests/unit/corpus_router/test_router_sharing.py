"""`fan_out: false`: corpora on one backend with one embedder are searched in one lane, and only where each could be."""

import pytest

from fanfuse_contracts import limits, subjects
from fanfuse_contracts.corpus import ALL_CORPORA, EmbedderSpec, FieldType
from fanfuse_contracts.enums import Kind, LaneOutcome, Shape
from fanfuse_contracts.filters import Op, digest
from fanfuse_contracts.tokens import is_token
from fanfuse_corpus_router.domain.bias import BIAS
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.planning import PlannedQuery

OTHER_MODEL = EmbedderSpec(model="maxi", dimensions=3)
YEAR = {"field": "year", "op": "gte", "value": 2020}


@pytest.fixture
def together(build):
    """Plan a query over these cards with shared lanes allowed."""

    def run(*cards, facts=None, scores=(), fan_out=False, **query):
        event = build.event(scores=scores, **query)
        routed = build.route(event, *cards, facts=facts, routing=build.routing(fan_out=fan_out))
        assert isinstance(routed, PlannedQuery), routed
        return routed

    return run


def vector(build, corpus, *, shared=True, weight=1.0, pool="main", operators=frozenset(Op), **fields):
    backends = (build.wiring("vector", shared=shared, weight=weight, pool=pool, operators=operators),)
    return build.card(corpus, backends=backends, **fields)


def lanes(routed):
    return [(lane.corpus, lane.corpora) for lane in routed.plan.lanes]


def test_corpora_of_one_backend_and_embedder_are_one_lane(build, together):
    routed = together(vector(build, "b"), vector(build, "a"), vector(build, "c"))
    assert lanes(routed) == [(ALL_CORPORA, ("a", "b", "c"))]
    lane, command = routed.plan.lanes[0], routed.commands[0]
    assert (lane.kind, lane.backend, lane.pool, lane.window) == (Kind.VECTOR, "main", "main", limits.DEFAULT_WINDOW)
    assert (command.corpus, command.corpora, command.lane) == (ALL_CORPORA, ("a", "b", "c"), lane.name)
    assert command.filter_digest == lane.filter_digest == digest("acme", "a,b,c", None)
    assert subjects.retrieve(lane.kind, lane.pool, "acme", command.corpus).endswith(f".acme.{ALL_CORPORA}")
    assert not routed.plan.corpus_decision.fan_out


def test_each_corpus_keeps_its_own_decision_and_weight(build, together):
    routed = together(vector(build, "a"), vector(build, "b"), scores=(build.score("a", 2.0), build.score("b", 1.0)))
    assert [decision.use_vector for decision in routed.plan.decisions] == [True, True]
    first, second = routed.plan.decisions
    assert first.corpus_weight + second.corpus_weight == pytest.approx(1.0)
    assert first.corpus_weight > second.corpus_weight
    assert all(one.reason.endswith("searched: vector/main") for one in routed.plan.decisions)


def test_a_shared_lane_weighs_the_strongest_backend_times_the_corpora_together(build, together):
    shape = build.shape(Shape.SEMANTIC)
    scores = (build.score("a", 2.0), build.score("b", 1.0), build.score("c", 1.0))
    cards = (vector(build, "a", weight=0.5), vector(build, "b", weight=2.0), vector(build, "c", shared=False))
    plan = together(*cards, scores=scores, shape=shape).plan
    share = {one.corpus: one.corpus_weight for one in plan.decisions}
    strongest = 2.0 * BIAS[Shape.SEMANTIC].of(Kind.VECTOR)
    assert [lane.weight for lane in plan.lanes] == pytest.approx(
        [strongest * (share["a"] + share["b"]), BIAS[Shape.SEMANTIC].of(Kind.VECTOR) * share["c"]]
    )


def test_the_share_of_a_lane_is_at_most_one(build, together):
    """Corpora without hope count a little each, beside one that has the whole probability."""
    cards = [vector(build, f"c{number}") for number in range(limits.MAX_CORPORA_PER_QUERY)]
    plan = together(*cards, scores=(build.score("c0", 1e6),), corpora=tuple(card.corpus for card in cards)).plan
    assert sum(one.corpus_weight for one in plan.decisions) > 1.0
    assert [lane.weight for lane in plan.lanes] == [1.0]


@pytest.mark.parametrize(
    "other",
    [
        {"shared": False},
        {"pool": "hot"},
        {"embedder": OTHER_MODEL},
        {"embedder": EmbedderSpec(model="mini", dimensions=3)},
    ],
)
def test_what_differs_is_searched_apart(build, together, other):
    routed = together(vector(build, "a"), vector(build, "b", **other))
    assert lanes(routed) == [("a", ()), ("b", ())]
    assert not routed.plan.corpus_decision.fan_out


def test_groups_are_formed_by_embedder(build, together):
    cards = [vector(build, name, embedder=OTHER_MODEL if name in "bd" else build.embedder) for name in "abcd"]
    assert lanes(together(*cards)) == [(ALL_CORPORA, ("a", "c")), (ALL_CORPORA, ("b", "d"))]


def test_keyword_and_graph_lanes_need_no_common_embedder(build, together):
    def card(name, embedder):
        kinds = (build.wiring("keyword", shared=True), build.wiring("graph", shared=True))
        return build.card(name, backends=kinds, embedder=embedder)

    routed = together(card("a", OTHER_MODEL), card("b", None))
    assert lanes(routed) == [(ALL_CORPORA, ("a", "b"))] * 2
    assert [lane.kind for lane in routed.plan.lanes] == [Kind.KEYWORD, Kind.GRAPH]
    assert routed.commands[1].seeds == ("Alice Smith",)


def test_a_group_of_one_is_an_ordinary_lane(build, together):
    alone, ordinary = together(vector(build, "a")), together(vector(build, "a"), fan_out=True)
    assert alone.plan.lanes == ordinary.plan.lanes
    assert alone.commands == ordinary.commands
    assert (alone.plan.corpus_decision.fan_out, ordinary.plan.corpus_decision.fan_out) == (False, True)


def test_with_fan_out_nothing_is_shared(build, together):
    routed = together(vector(build, "a"), vector(build, "b"), fan_out=True)
    assert lanes(routed) == [("a", ()), ("b", ())]
    assert routed.plan.corpus_decision.fan_out


def test_only_corpora_that_can_enforce_the_filter_are_in_a_shared_lane(build, together):
    """TEN-02: one that cannot is left out and named, and the digest is that of the others."""
    cards = (
        vector(build, "a"),
        vector(build, "b", fields={"year": FieldType.STRING}),
        vector(build, "c", operators=frozenset({Op.EQ})),
        vector(build, "d"),
    )
    routed = together(*cards, filter=YEAR)
    assert lanes(routed) == [(ALL_CORPORA, ("a", "d"))]
    assert [(row.corpus, row.outcome) for row in routed.plan.skipped] == [
        ("b", LaneOutcome.SKIPPED_FILTER),
        ("c", LaneOutcome.SKIPPED_FILTER),
    ]
    assert routed.commands[0].filter is not None
    assert routed.commands[0].filter_digest == digest("acme", "a,d", routed.commands[0].filter)


def test_a_switched_off_corpus_is_not_in_a_shared_lane(build, together):
    routed = together(vector(build, "a"), vector(build, "b", weight=0.0), vector(build, "c"))
    assert lanes(routed) == [(ALL_CORPORA, ("a", "c"))]


def test_an_invisible_corpus_is_not_in_a_shared_lane(build, together):
    """TEN-06."""
    cards = (vector(build, "a"), vector(build, "b"))
    with_it = together(*cards, vector(build, "c", public=False), vector(build, "d", tenant="globex"))
    assert with_it == together(*cards)


def test_a_degraded_backend_is_told_for_each_corpus(build, together):
    def card(name):
        return build.card(name, backends=(build.wiring("vector", shared=True), build.wiring("keyword")))

    plan = together(card("a"), card("b"), facts=BackendFacts(unhealthy=frozenset({(Kind.VECTOR, "main")}))).plan
    assert [(row.corpus, row.outcome) for row in plan.skipped] == [
        ("a", LaneOutcome.SKIPPED_UNHEALTHY),
        ("b", LaneOutcome.SKIPPED_UNHEALTHY),
    ]
    assert all(decision.bm25_fallback for decision in plan.decisions)


def test_a_stand_in_may_share_a_lane(build):
    down = build.card("a", backends=(build.wiring("vector", "x"),), fallbacks=("c",))
    cards = (down, vector(build, "b"), vector(build, "c"))
    event = build.event(scores=(build.score("a", 2.0), build.score("b", 1.0), build.score("c", -1.0)))
    facts = BackendFacts(unhealthy=frozenset({(Kind.VECTOR, "x")}))
    plan = build.plan(event, *cards, facts=facts, routing=build.routing(fan_out=False))
    assert [lane.corpora for lane in plan.lanes] == [("b", "c")]


def test_the_place_of_a_shared_lane_is_that_of_its_best_corpus(build, together):
    cards = (vector(build, "a", shared=False), vector(build, "b"), vector(build, "c", shared=False), vector(build, "d"))
    scores = tuple(build.score(name, 4.0 - position) for position, name in enumerate("abcd"))
    assert lanes(together(*cards, scores=scores)) == [("a", ()), (ALL_CORPORA, ("b", "d")), ("c", ())]


def test_the_name_of_a_shared_lane_is_that_of_its_corpora(build, together):
    names = {
        tuple(card.corpus for card in cards): together(*cards).plan.lanes[0].name
        for cards in (
            [vector(build, "a"), vector(build, "b")],
            [vector(build, "a"), vector(build, "b"), vector(build, "c")],
            [vector(build, "a"), vector(build, "c")],
            [vector(build, "a")],
        )
    }
    assert len(set(names.values())) == 4
    assert all(is_token(name) for name in names.values())
    again = together(vector(build, "b"), vector(build, "a"), scores=(build.score("b", 1.0), build.score("a", 1.0)))
    assert again.plan.lanes[0].name == names["a", "b"]


def test_a_shared_lane_counts_once_in_a_full_plan(build, together):
    cards = [
        build.card(f"c{number:02}", backends=tuple(build.wiring(kind, shared=True) for kind in Kind))
        for number in range(limits.MAX_CORPORA_PER_QUERY)
    ]
    assert len(together(*cards).plan.lanes) == 3
    assert len(together(*cards, fan_out=True).plan.lanes) == limits.MAX_LANES


def test_a_shared_lane_left_out_of_a_full_plan_is_told_for_each_corpus(build, together):
    light = [vector(build, name, weight=0.01) for name in ("a", "b")]
    many = tuple(build.wiring("keyword", f"b{number}") for number in range(limits.MAX_LANES))
    plan = together(*light, build.card("heavy", backends=many)).plan
    assert [row.corpus for row in plan.skipped] == ["a", "b"]
    assert all(row.outcome is LaneOutcome.SKIPPED_UNHEALTHY and row.fallback_reason is None for row in plan.skipped)
    assert not plan.corpus_decision.fan_out
