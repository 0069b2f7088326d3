"""Which lanes of a corpus are used, and what is said of the others."""

import pytest

from fanfuse_contracts import limits
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FallbackReason, Kind, LaneOutcome, RejectionCode
from fanfuse_contracts.query import QueryVector
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.naming import lane_name
from fanfuse_corpus_router.domain.planning import PlannedQuery

FITTING = QueryVector(model="mini", values=(1.0, 0.0, 0.0))
OTHER_MODEL = QueryVector(model="maxi", values=(1.0, 0.0, 0.0))
OTHER_SIZE = QueryVector(model="mini", values=(1.0, 0.0))
HYDE = QueryVector(model="mini", values=(0.0, 1.0, 0.0))
VECTOR_DOWN = BackendFacts(unhealthy=frozenset({(Kind.VECTOR, "main")}))


def kinds(plan):
    return [lane.kind for lane in plan.lanes]


def skipped(plan, kind):
    return next(lane for lane in plan.skipped if lane.kind is kind)


def test_all_three_kinds_are_used_where_all_have_input(build):
    plan = build.plan(build.event(), build.card("a"))
    assert kinds(plan) == [Kind.VECTOR, Kind.KEYWORD, Kind.GRAPH]
    assert plan.skipped == ()


@pytest.mark.parametrize(
    ("vector", "hyde", "sent"),
    [
        (FITTING, HYDE, FITTING.values),
        (OTHER_MODEL, HYDE, HYDE.values),
        (OTHER_SIZE, HYDE, HYDE.values),
        (None, HYDE, HYDE.values),
        (OTHER_MODEL, OTHER_SIZE, None),
        (None, None, None),
    ],
)
def test_a_vector_is_sent_only_if_model_and_size_fit(build, vector, hyde, sent):
    routed = build.route(build.event(vector=vector, hyde_vector=hyde), build.card("a", kinds=("vector",)))
    assert isinstance(routed, PlannedQuery)
    assert routed.commands[0].vector == sent


@pytest.mark.parametrize("vector", [None, OTHER_MODEL, OTHER_SIZE])
def test_a_remote_embedder_needs_a_fitting_vector(build, vector):
    card = build.card("a", embedder=EmbedderSpec(model="mini", dimensions=3, local=False))
    assert Kind.VECTOR not in kinds(build.plan(build.event(vector=vector), card))
    assert Kind.VECTOR in kinds(build.plan(build.event(vector=FITTING), card))


@pytest.mark.parametrize(
    ("knows", "language", "scripts", "used"),
    [
        (("en",), "en", ("latin",), True),
        (("en",), "zh", ("han",), False),
        (("en",), "de", ("latin",), False),
        (("en",), None, ("latin",), True),
        (("en",), None, ("han", "latin"), False),
        (("en",), None, ("latin", "han"), True),
        (("en",), None, ("other",), False),
        (("en",), None, (), True),
        (("ja",), None, ("katakana",), True),
        (("zh", "en"), None, ("han",), True),
        (("ru",), None, ("latin",), False),
        ((), "en", ("latin",), False),
        (None, "zh", ("han",), True),
        (None, None, ("han",), True),
    ],
)
def test_an_embedder_gets_only_languages_it_knows(build, knows, language, scripts, used):
    card = build.card("a", embedder=EmbedderSpec(model="mini", dimensions=3, languages=knows))
    plan = build.plan(build.event(shape=build.shape(language=language, scripts=scripts)), card)
    assert (Kind.VECTOR in kinds(plan)) is used
    if not used:
        assert skipped(plan, Kind.VECTOR).outcome is LaneOutcome.SKIPPED_NO_INPUT
        assert not plan.decisions[0].bm25_fallback


def test_without_an_embedder_on_the_card_there_is_no_vector_lane(build):
    plan = build.plan(build.event(vector=FITTING), build.card("a", embedder=None))
    assert skipped(plan, Kind.VECTOR).reason == "the corpus's card names no embedder"


@pytest.mark.parametrize(
    ("given", "entities", "identifiers", "seeds"),
    [
        (("Bob",), ("Alice",), (), ("Bob",)),
        (None, ("Alice", "Bob"), ("CVE-2026-1234", "Bob"), ("Alice", "Bob", "CVE-2026-1234")),
        (None, (), (), None),
        ((), ("Alice",), (), None),
        ((" ",), ("Alice",), (), None),
    ],
)
def test_graph_starts_from_the_callers_seeds_else_from_the_text(build, given, entities, identifiers, seeds):
    shape = build.shape(entities=entities, identifiers=identifiers)
    routed = build.route(build.event(graph_seeds=given, shape=shape), build.card("a", kinds=("keyword", "graph")))
    assert isinstance(routed, PlannedQuery)
    sent = [command.seeds for command in routed.commands if command.kind is Kind.GRAPH]
    assert sent == ([seeds] if seeds else [])
    assert not routed.plan.decisions[0].bm25_fallback


def test_seeds_found_in_the_text_are_bounded(build):
    shape = build.shape(entities=tuple(f"Name {number}" for number in range(100)))
    routed = build.route(build.event(shape=shape), build.card("a", kinds=("graph",)))
    assert isinstance(routed, PlannedQuery)
    assert len(routed.commands[0].seeds) == limits.MAX_GRAPH_SEEDS


def test_only_keyword_commands_carry_terms_and_identifiers(build):
    event = build.event(text="ticket", expansion_terms=("issue", "bug"), shape=build.shape(identifiers=("T-1",)))
    routed = build.route(event, build.card("a"))
    assert isinstance(routed, PlannedQuery)
    assert {command.kind: (command.text, command.identifiers) for command in routed.commands} == {
        Kind.VECTOR: ("ticket", ()),
        Kind.KEYWORD: ("ticket issue bug", ("T-1",)),
        Kind.GRAPH: ("ticket", ()),
    }


def test_terms_alone_are_enough_for_keyword_and_blank_text_is_never_embedded(build):
    plan = build.plan(build.event(text=" ", expansion_terms=("bug",), graph_seeds=()), build.card("a"))
    assert kinds(plan) == [Kind.KEYWORD]


def test_a_degraded_backend_is_left_out_and_named(build):
    plan = build.plan(build.event(), build.card("a"), facts=VECTOR_DOWN)
    lane = skipped(plan, Kind.VECTOR)
    assert (lane.outcome, lane.fallback_reason) == (LaneOutcome.SKIPPED_UNHEALTHY, FallbackReason.DEGRADED)
    assert plan.decisions[0].degraded_backends == ("vector/main",)
    assert not plan.decisions[0].bm25_fallback  # a live graph lane: partial, no fallback


def test_an_absent_pool_is_left_out_before_a_query_pays_for_it(build):
    card = build.card("a", backends=(build.wiring("vector", pool="hot"), build.wiring("keyword")))
    plan = build.plan(build.event(), card, facts=BackendFacts(absent=frozenset({(Kind.VECTOR, "hot")})))
    assert skipped(plan, Kind.VECTOR).fallback_reason is FallbackReason.NO_WORKER
    assert plan.decisions[0].bm25_fallback


@pytest.mark.parametrize(
    ("card_kinds", "fallback"),
    [(("keyword",), False), (("keyword", "vector"), True), (("keyword", "vector", "graph"), False)],
)
def test_fallback_needs_a_lane_lost_to_health_and_keyword_alone(build, card_kinds, fallback):
    plan = build.plan(build.event(), build.card("a", kinds=card_kinds), facts=VECTOR_DOWN)
    assert plan.decisions[0].bm25_fallback is fallback


def test_a_second_keyword_engine_down_is_no_fallback(build):
    card = build.card("a", backends=(build.wiring("keyword", "eu"), build.wiring("keyword", "us")))
    plan = build.plan(build.event(), card, facts=BackendFacts(unhealthy=frozenset({(Kind.KEYWORD, "eu")})))
    assert [lane.backend for lane in plan.lanes] == ["us"]
    assert not plan.decisions[0].bm25_fallback
    assert plan.decisions[0].degraded_backends == ("keyword/eu",)


def test_fallback_is_decided_per_corpus(build):
    facts = BackendFacts(unhealthy=frozenset({(Kind.VECTOR, "hot")}))
    hot = build.card("a", backends=(build.wiring("vector", "hot"), build.wiring("keyword")))
    plan = build.plan(build.event(), hot, build.card("b", kinds=("vector", "keyword")), facts=facts)
    assert {decision.corpus: decision.bm25_fallback for decision in plan.decisions} == {"a": True, "b": False}


def test_a_lane_without_input_is_no_fault_of_its_degraded_backend(build):
    event = build.event(shape=build.shape(language="zh"), graph_seeds=())
    plan = build.plan(event, build.card("a"), facts=VECTOR_DOWN)
    assert skipped(plan, Kind.VECTOR).outcome is LaneOutcome.SKIPPED_NO_INPUT
    assert plan.decisions[0].degraded_backends == ()
    assert not plan.decisions[0].bm25_fallback


@pytest.mark.parametrize("facts", [BackendFacts(), VECTOR_DOWN])
def test_no_lane_at_all_is_refused_and_retryable_only_for_health(build, facts):
    event = build.event(graph_seeds=())
    card = build.card("a", kinds=("vector", "graph"), embedder=None if facts == BackendFacts() else build.embedder)
    rejection = build.refuse(event, card, facts=facts)
    healthy = facts == BackendFacts()
    assert rejection.code is (RejectionCode.NO_LANE if healthy else RejectionCode.UNCONFIRMED)
    assert rejection.retryable is not healthy
    assert "a: vector/main:" in rejection.message
    assert "a: graph/main: the caller gave no seeds" in rejection.message


def test_a_corpus_wired_with_nothing_is_refused(build):
    rejection = build.refuse(build.event(), build.card("a", kinds=()))
    assert (rejection.code, rejection.retryable) == (RejectionCode.NO_LANE, False)


def test_every_wired_lane_is_in_the_plan_or_named_as_skipped(build):
    cards = [build.card(name) for name in "abc"]
    plan = build.plan(build.event(graph_seeds=()), *cards, facts=VECTOR_DOWN)
    rows = [(row.corpus, row.kind, row.backend) for row in (*plan.lanes, *plan.skipped)]
    assert sorted(rows) == sorted((c.corpus, w.kind, w.backend) for c in cards for w in c.backends)


def test_a_full_plan_leaves_out_and_names_the_lightest_lanes(build):
    wirings = tuple(
        build.wiring("keyword", f"b{number:02}", weight=1.0 if number % 2 else 0.5)
        for number in range(limits.MAX_LANES + 6)
    )
    plan = build.plan(build.event(), build.card("a", backends=wirings))
    assert len(plan.lanes) == limits.MAX_LANES
    assert [lane.backend for lane in plan.skipped] == ["b58", "b60", "b62", "b64", "b66", "b68"]
    assert all("the plan is full" in lane.reason and lane.fallback_reason is None for lane in plan.skipped)
    assert not plan.decisions[0].bm25_fallback


def test_lane_names_are_short_unique_and_depend_on_the_lane_alone(build):
    cards = [build.card(name) for name in "abc"]
    together = {(lane.corpus, lane.kind): lane.name for lane in build.plan(build.event(), *cards).lanes}
    alone = {
        (lane.corpus, lane.kind): lane.name for lane in build.plan(build.event(), cards[1], facts=VECTOR_DOWN).lanes
    }
    assert len(set(together.values())) == len(together) == 9
    assert alone.items() <= together.items()
    assert all(len(name) == 7 and name[0] == kind.value[0] for (_, kind), name in together.items())


def test_a_taken_name_gets_longer():
    name = lane_name(Kind.VECTOR, "a", "main")
    longer = lane_name(Kind.VECTOR, "a", "main", {name})
    assert longer.startswith(name)
    assert len(longer) == len(name) + 1


def test_commands_mirror_their_lanes(build):
    event = build.event(window=170, budget_ms=700)
    routed = build.route(event, build.card("a"), build.card("b"))
    assert isinstance(routed, PlannedQuery)
    for lane, command in zip(routed.plan.lanes, routed.commands, strict=True):
        assert (command.lane, command.corpus, command.kind, command.backend) == (
            lane.name, lane.corpus, lane.kind, lane.backend,
        )  # fmt: skip
        assert command.window == lane.window == 170
        assert command.filter_digest == lane.filter_digest
        assert (command.budget_ms, command.submitted_ns, command.attempt) == (700, event.submitted_ns, 0)
