"""A source that is down or old is named; only its own fallbacks, of its kind of truth, may stand in for it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fanfuse_contracts import limits
from fanfuse_contracts.confirmation import primary_kinds
from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode, Shape, SourceKind, UnconfirmedReason
from fanfuse_contracts.plan import RoutingDecision
from fanfuse_contracts.weights import Weights
from fanfuse_corpus_router.domain.facts import BackendFacts

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def on(build, backend, corpus, source=SourceKind.RECORD, **fields):
    """A corpus with a keyword and a vector backend of this name."""
    backends = (build.wiring("keyword", backend), build.wiring("vector", backend))
    return build.card(corpus, backends=backends, source=source, **fields)


def down(*backends):
    return BackendFacts(unhealthy=frozenset((kind, backend) for kind in Kind for backend in backends))


def rows(plan):
    return [(row.corpus, row.reason) for row in plan.unconfirmed]


def searched(plan):
    return {lane.corpus for lane in plan.lanes}


@pytest.fixture
def asked(build):
    """`a` is asked for; `b` and `c` are not."""
    return (build.asks("a", "state", score=5.0),)


def able(build):
    return {"can_answer": (build.capability("state"),)}


def test_all_down_could_not_be_confirmed_and_is_worth_a_retry(build):
    rejection = build.refuse(build.event(), on(build, "x", "a"), on(build, "x", "b"), facts=down("x"))
    assert (rejection.code, rejection.retryable) == (RejectionCode.UNCONFIRMED, True)
    assert "corpus 'a', 'b' is down" in rejection.message
    assert "a: vector/x: the backend is degraded" in rejection.message


def test_a_pool_without_workers_is_down_too(build):
    facts = BackendFacts(absent=frozenset((kind, "x") for kind in Kind))
    rejection = build.refuse(build.event(), on(build, "x", "a"), facts=facts)
    assert rejection.code is RejectionCode.UNCONFIRMED
    assert "no worker serves pool x" in rejection.message


def test_another_kind_of_source_never_answers_for_one_that_is_asked_and_down(build, asked):
    policy = on(build, "y", "b", SourceKind.POLICY)
    event = build.event(scores=(*asked, build.score("b", 9.0)))
    cards = (on(build, "x", "a", **able(build)), policy)
    rejection = build.refuse(event, *cards, facts=down("x"))
    assert (rejection.code, rejection.retryable) == (RejectionCode.UNCONFIRMED, True)
    assert "'a'" in rejection.message
    assert "'b'" not in rejection.message
    assert searched(build.plan(event, *cards)) == {"a", "b"}


def test_a_source_of_the_same_kind_that_is_ready_lets_all_be_searched_and_the_one_down_is_named(build, asked):
    cards = (on(build, "x", "a", **able(build)), on(build, "y", "b"), on(build, "y", "c", SourceKind.POLICY))
    event = build.event(scores=(*asked, build.score("b", 1.0), build.score("c", 9.0)))
    plan = build.plan(event, *cards, facts=down("x"))
    assert searched(plan) == {"b", "c"}
    assert rows(plan) == [("a", UnconfirmedReason.DOWN)]
    assert "keyword/x: the backend is degraded" in plan.unconfirmed[0].message
    assert "a" in plan.corpus_decision.selected_corpora
    assert {row.outcome for row in plan.skipped} == {LaneOutcome.SKIPPED_UNHEALTHY}


def test_where_nothing_is_asked_the_best_corpus_tells_the_kind(build):
    cards = (on(build, "x", "a"), on(build, "y", "b", SourceKind.POLICY))
    best_down = build.event(scores=(build.score("a", 2.0), build.score("b", 1.0)))
    assert build.refuse(best_down, *cards, facts=down("x")).code is RejectionCode.UNCONFIRMED
    best_up = build.event(scores=(build.score("a", 1.0), build.score("b", 2.0)))
    plan = build.plan(best_up, *cards, facts=down("x"))
    assert searched(plan) == {"b"}
    assert rows(plan) == [("a", UnconfirmedReason.DOWN)]


def test_a_pin_makes_every_pinned_kind_one_that_counts(build):
    cards = (on(build, "x", "a"), on(build, "y", "b", SourceKind.POLICY))
    event = build.event(corpora=("a", "b"), scores=(build.score("a", 9.0),))
    plan = build.plan(event, *cards, facts=down("x"))
    assert searched(plan) == {"b"}
    assert rows(plan) == [("a", UnconfirmedReason.DOWN)]


def test_in_an_earlier_decision_the_heaviest_tells_the_kind(build):
    cards = (on(build, "x", "a"), on(build, "y", "b", SourceKind.POLICY))
    earlier = {"corpora": [{"corpus": "a", "weight": 0.9}, {"corpus": "b", "weight": 0.1}]}
    assert build.refuse(build.event(decision=earlier), *cards, facts=down("x")).code is RejectionCode.UNCONFIRMED


def test_a_source_that_lost_only_some_lanes_is_not_down(build, asked):
    facts = BackendFacts(unhealthy=frozenset({(Kind.VECTOR, "x")}))
    plan = build.plan(build.event(scores=asked), on(build, "x", "a", **able(build)), facts=facts)
    assert plan.unconfirmed == ()


def test_a_source_without_input_or_filter_is_not_down(build):
    condition = {"field": "lang", "op": "eq", "value": "en"}
    cards = (on(build, "x", "a", fields={}), on(build, "y", "b", SourceKind.POLICY))
    event = build.event(scores=(build.score("a", 2.0), build.score("b", 1.0)), filter=condition)
    plan = build.plan(event, *cards, facts=down("x"))
    assert searched(plan) == {"b"}
    assert plan.unconfirmed == ()


# Stand-ins


@pytest.fixture
def replaced(build):
    """Plan a query of `a`, which is down, with these fallbacks and other cards."""

    def run(fallbacks, *others, scores=(), backends=("x",), **query):
        card = on(build, "x", "a", fallbacks=tuple(fallbacks), **able(build))
        event = build.event(scores=(build.asks("a", "state", score=5.0), *scores), **query)
        return build.route(event, card, *others, facts=down(*backends), routing=build.routing(max_corpora=1))

    return run


def test_the_first_fallback_that_is_ready_stands_in_with_the_weight_of_the_one_down(build, replaced):
    others = (on(build, "x", "b"), on(build, "y", "c"), on(build, "y", "d"))
    plan = replaced(("b", "c", "d"), *others).plan
    assert searched(plan) == {"c"}
    assert [(one.corpus, one.stands_in_for, one.corpus_weight) for one in plan.decisions] == [
        ("a", None, 1.0),
        ("c", "a", 1.0),
    ]
    assert plan.corpus_decision.selected_corpora == ("a", "c")
    row = next(row for row in plan.corpus_decision.scores if row.corpus == "c")
    assert (row.selected, row.reason) == (True, "stands in for 'a', which is down")
    assert "'c' stands in for 'a'" in plan.corpus_decision.reason
    assert rows(plan) == [("a", UnconfirmedReason.DOWN)]
    assert plan.unconfirmed[0].message.endswith("'c' stands in")


def test_a_stand_in_takes_its_own_wiring_and_the_others_share(build):
    cards = (
        on(build, "x", "a", fallbacks=("c",)),
        on(build, "y", "b"),
        build.card("c", backends=(build.wiring("keyword", "z", weight=0.5),), source=SourceKind.RECORD),
    )
    event = build.event(scores=(build.score("a", 2.0), build.score("b", 1.0)))
    whole, lost = build.plan(event, *cards), build.plan(event, *cards, facts=down("x"))
    share = {one.corpus: one.corpus_weight for one in whole.decisions}
    assert {one.corpus: one.corpus_weight for one in lost.decisions} == share | {"c": share["a"]}
    assert [lane.weight for lane in lost.lanes if lane.corpus == "c"] == [0.5 * share["a"]]
    assert lost.lanes[0].corpus == "c"  # the place of the one that is down


@pytest.mark.parametrize("source", [SourceKind.POLICY, SourceKind.REFERENCE])
def test_a_fallback_of_another_kind_is_never_used(build, replaced, source):
    assert replaced(("b",), on(build, "y", "b", source)).code is RejectionCode.UNCONFIRMED


def test_a_fallback_that_may_not_be_read_reads_like_one_that_does_not_exist(build, replaced):
    hidden = replaced(("b",), on(build, "y", "b", public=False))
    assert hidden.code is RejectionCode.UNCONFIRMED
    assert hidden.to_json() == replaced(("b",)).to_json()
    theirs = replaced(("b",), on(build, "y", "b", tenant="globex"))
    assert theirs.to_json() == hidden.to_json()


def test_an_excluded_fallback_does_not_come_back(build, replaced):
    others, shut = (on(build, "y", "b"),), (build.score("b", 1.0, exclude="r"),)
    assert replaced(("b",), *others, scores=shut).code is RejectionCode.UNCONFIRMED


def test_a_fallback_that_cannot_confirm_what_is_asked_is_not_used(build, replaced):
    row = build.score("b", 1.0).model_copy(update={"cannot_confirm": ("state",)})
    assert replaced(("b",), on(build, "y", "b"), scores=(row,)).code is RejectionCode.UNCONFIRMED


def test_a_fallback_that_cannot_enforce_the_filter_is_not_used(build, replaced):
    condition = {"field": "lang", "op": "eq", "value": "en"}
    refused = replaced(("b",), on(build, "y", "b", fields={}), filter=condition)
    assert refused.code is RejectionCode.UNCONFIRMED
    assert searched(
        replaced(("b", "c"), on(build, "y", "b", fields={}), on(build, "y", "c"), filter=condition).plan
    ) == {"c"}


def test_the_fallbacks_of_a_fallback_are_not_followed(build, replaced):
    others = (on(build, "x", "b", fallbacks=("c",)), on(build, "y", "c"))
    assert replaced(("b",), *others).code is RejectionCode.UNCONFIRMED


def test_without_the_fault_no_fallback_is_searched(build, replaced):
    plan = replaced(("b",), on(build, "y", "b"), backends=()).plan
    assert searched(plan) == {"a"}
    assert plan.unconfirmed == ()


def test_one_corpus_stands_in_once_and_never_beside_itself(build):
    cards = (
        on(build, "x", "a", fallbacks=("c",)),
        on(build, "x", "b", fallbacks=("c", "d")),
        on(build, "y", "c"),
        on(build, "y", "d"),
    )
    scores = tuple(build.score(name, score) for name, score in {"a": 2.0, "b": 1.0, "c": -1.0, "d": -1.0}.items())
    plan = build.plan(build.event(scores=scores), *cards, facts=down("x"))
    assert {one.corpus: one.stands_in_for for one in plan.decisions} == {"a": None, "b": None, "c": "a", "d": "b"}


def test_a_selected_corpus_needs_no_one_to_name_it(build):
    cards = (on(build, "x", "a", fallbacks=("b",)), on(build, "y", "b"))
    plan = build.plan(build.event(), *cards, facts=down("x"))
    assert [(one.corpus, one.stands_in_for) for one in plan.decisions] == [("a", None), ("b", None)]


@pytest.mark.parametrize("chosen", [{"corpora": ("a",)}, {"decision": {"corpora": [{"corpus": "a"}]}}])
def test_who_names_the_corpora_gets_those_and_no_other(build, replaced, chosen):
    assert replaced(("b",), on(build, "y", "b"), **chosen).code is RejectionCode.UNCONFIRMED


# Stale sources


def stale(build, indexed_at, freshness_s=3_600, **world):
    card = on(build, "x", "a", indexed_at=indexed_at, freshness_s=freshness_s, **world)
    plan = build.plan(build.event(), card, now_s=NOW.timestamp())
    assert searched(plan) == {"a"}
    return rows(plan) == [("a", UnconfirmedReason.STALE)]


@pytest.mark.parametrize(
    ("age", "old"),
    [
        (timedelta(0), False),
        (timedelta(hours=1), False),
        (timedelta(hours=1, seconds=1), True),
        (timedelta(hours=-9), False),
    ],
)
def test_text_older_than_the_card_allows_is_searched_and_named(build, age, old):
    assert stale(build, (NOW - age).isoformat()) is old


def test_the_time_of_indexing_is_read_with_its_offset_and_as_utc_without(build):
    shifted = (NOW - timedelta(minutes=59)).astimezone(timezone(timedelta(hours=9)))
    assert not stale(build, shifted.isoformat())
    assert not stale(build, (NOW - timedelta(minutes=59)).replace(tzinfo=None).isoformat())
    assert stale(build, (NOW - timedelta(minutes=61)).replace(tzinfo=None).isoformat())


def test_a_time_that_cannot_be_read_counts_as_old(build):
    assert stale(build, "yesterday")


def test_a_card_that_states_no_age_or_was_not_indexed_here_is_never_stale(build):
    assert not stale(build, "2001-01-01T00:00:00+00:00", freshness_s=None)
    assert not stale(build, None)


def test_what_is_said_of_a_stale_source_does_not_depend_on_the_moment(build):
    card = on(build, "x", "a", indexed_at="2026-06-01T00:00:00+00:00", freshness_s=60)
    first, second = (build.plan(build.event(), card, now_s=NOW.timestamp() + wait) for wait in (0.0, 3.7))
    assert first.to_json() == second.to_json()
    assert "indexed at 2026-06-01T00:00:00+00:00" in first.unconfirmed[0].message


def test_a_source_that_is_down_is_not_also_stale(build):
    cards = (on(build, "x", "a", indexed_at="2026-06-01T00:00:00+00:00", freshness_s=60), on(build, "y", "b"))
    plan = build.plan(build.event(), *cards, facts=down("x"), now_s=NOW.timestamp())
    assert rows(plan) == [("a", UnconfirmedReason.DOWN)]


def test_a_pinned_source_that_cannot_confirm_is_searched_and_named_before_the_stale(build):
    old = {"indexed_at": "2026-06-01T00:00:00+00:00", "freshness_s": 60}
    row = build.score("b", 1.0).model_copy(update={"cannot_confirm": ("salaries",)})
    event = build.event(corpora=("a", "b"), scores=(row,))
    plan = build.plan(event, on(build, "x", "a", **old), on(build, "x", "b"), now_s=NOW.timestamp())
    assert searched(plan) == {"a", "b"}
    assert rows(plan) == [("b", UnconfirmedReason.OUT_OF_SCOPE), ("a", UnconfirmedReason.STALE)]


# Whose word counts


def decided(source, *asked):
    return RoutingDecision(
        corpus="c", shape=Shape.MIXED, use_vector=True, use_keyword=True, use_graph=True, weights=Weights(),
        degraded_backends=(), bm25_fallback=False, reason="", source=source, asked=asked,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("decisions", "pinned", "kinds"),
    [
        ([], False, set()),
        ([], True, set()),
        ([decided("policy"), decided("record")], False, {"policy"}),
        ([decided("policy"), decided("record")], True, {"policy", "record"}),
        ([decided("policy"), decided("record", "state")], False, {"record"}),
        ([decided("policy"), decided("record", "state")], True, {"record"}),
        ([decided("policy", "leave"), decided("record", "state"), decided("reference")], False, {"policy", "record"}),
    ],
)
def test_the_kinds_that_must_confirm(decisions, pinned, kinds):
    assert primary_kinds(decisions, pinned=pinned) == kinds


def test_lanes_of_a_source_that_must_confirm_are_the_last_to_be_left_out_of_a_full_plan(build):
    many = tuple(build.wiring("keyword", f"b{number}") for number in range(limits.MAX_LANES))
    heavy = build.card("heavy", backends=many, source=SourceKind.REFERENCE)
    asked = build.card("light", kinds=("keyword",), source=SourceKind.RECORD, **able(build))
    event = build.event(scores=(build.score("heavy", 20.0), build.asks("light", "state", score=0.0)))
    plan = build.plan(event, heavy, asked)
    assert len(plan.lanes) == limits.MAX_LANES
    assert "light" in searched(plan)
    assert [row.corpus for row in plan.skipped] == ["heavy"]
